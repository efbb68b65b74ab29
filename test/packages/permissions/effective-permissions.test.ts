import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { effectivePermissions } from "../../../core/packages/permissions/effective-permissions.ts";
import { explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import { matchesArguments, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";

/** What a broker would have to decide, each as a question about a permission set. */
type Question =
  | { kind: "run"; binary: string; args: string[] }
  | { kind: "run_env"; binary: string; args: string[]; name: string }
  | { kind: "read" | "write"; path: string }
  | { kind: "net"; host: string; port: number }
  | { kind: "env"; name: string }
  | { kind: "secret_env"; name: string; variable: string }
  | { kind: "secret_host"; name: string; host: string; port: number }
  | { kind: "kv" };

/** Answers from the meaning of the words alone. `absent` is what a missing list or field says. */
function allows(permissions: Permissions, question: Question, absent: "none" | "all" | "grant" = "none"): boolean {
  switch (question.kind) {
    case "run":
    case "run_env": {
      if (permissions.run === undefined) return absent === "all";
      return permissions.run.some((entry) => {
        if (entry.binary !== question.binary) return false;
        const anyArgs = entry.args === undefined && absent !== "none";
        const lines = entry.args === undefined || entry.args.length === 0 ? [""] : entry.args;
        const fits = anyArgs || lines.some((line) => matchesArguments(parseArgumentPattern(line), question.args));
        if (question.kind === "run" || !fits) return fits;
        return entry.env === undefined ? absent !== "none" : entry.env.includes(question.name);
      });
    }
    case "read":
    case "write": {
      const roots = permissions[question.kind];
      return roots === undefined ? absent === "all" : roots.some((root) => {
        return root.startsWith("/")
          ? `${question.path}/`.startsWith(`${root}/`.replace("//", "/"))
          : root === question.path;
      });
    }
    case "net":
      if (permissions.net === undefined) return absent === "all";
      return permissions.net.some((entry) => {
        const [host, port] = [entry.slice(0, entry.lastIndexOf(":")), Number(entry.slice(entry.lastIndexOf(":") + 1))];
        if (port !== question.port) return false;
        return host.startsWith("*.") ? question.host.endsWith(host.slice(1)) : host === question.host;
      });
    case "env":
      return permissions.env === undefined ? absent === "all" : permissions.env.includes(question.name);
    case "secret_env":
    case "secret_host": {
      if (permissions.secrets === undefined) return absent === "all";
      return permissions.secrets.some(({ name: own, env, hosts }) => {
        if (own !== question.name) return false;
        if (env === undefined && hosts === undefined) return absent !== "none";
        if (question.kind === "secret_env") return env?.includes(question.variable) ?? false;
        return allows({ net: hosts ?? [] }, { kind: "net", host: question.host, port: question.port });
      });
    }
    case "kv":
      return permissions.kv ?? absent === "all";
  }
}

function denies(deny: Permissions, question: Question): boolean {
  if (question.kind === "run" || question.kind === "run_env") {
    return (deny.run ?? []).some((entry) => {
      if (entry.binary !== question.binary) return false;
      if (entry.args === undefined && entry.env === undefined) return true;
      const lines = entry.args === undefined ? [] : entry.args.length === 0 ? [""] : entry.args;
      if (lines.some((line) => matchesArguments(parseArgumentPattern(line), question.args))) return true;
      return question.kind === "run_env" && (entry.env ?? []).includes(question.name);
    });
  }
  const whole = question.kind === "secret_env" || question.kind === "secret_host";
  return allows(deny, question, whole && deny.secrets !== undefined ? "grant" : "none");
}

const binary = fc.constantFrom("git", "node", "/bin/sh");
const name = fc.constantFrom("A", "B", "C");
const word = fc.constantFrom("a", "-b", "@c", "--m=x", "--m={}", "--m={*}", "{}", "{*}", "{...}", "{}x", "'p q'", "");
const pattern = fc.array(word.map((text) => text === "" ? "''" : text), { maxLength: 4 }).map((words) =>
  words.join(" ")
);
const root = fc.constantFrom(
  "/",
  "/data",
  "/data/app",
  "/data/app-evil",
  "/data/app/x",
  "workdir",
  "data",
  "config:git",
);
const net = fc.constantFrom(
  "a.example.com:443",
  "example.com:443",
  "*.example.com:443",
  "*.b.example.com:443",
  "x.b.example.com:443",
  "a.example.com:80",
);
const list = <T>(one: fc.Arbitrary<T>) => fc.option(fc.array(one, { maxLength: 3 }), { nil: undefined });
const optional = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;

const run = fc.record({
  binary,
  args: list(pattern),
  env: list(name),
  contain: fc.constantFrom(undefined, undefined, "workdir" as const),
  contain_net: fc.constantFrom(undefined, undefined, false, true),
}).map(optional) as fc.Arbitrary<
  NonNullable<Permissions["run"]>[number]
>;
const secret = fc.record({ name, env: list(name), hosts: list(net) }).map(optional) as fc.Arbitrary<
  NonNullable<Permissions["secrets"]>[number]
>;
const permissions = fc.record({
  run: list(run),
  read: list(root),
  write: list(root),
  net: list(net),
  env: list(name),
  secrets: list(secret),
  kv: fc.option(fc.boolean(), { nil: undefined }),
}).map(optional) as fc.Arbitrary<Permissions>;

const argument = fc.constantFrom("a", "-b", "@c", "--m=x", "--m=y", "zx", "p q", "", "-bx");
const args = fc.array(argument, { maxLength: 5 });
const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ kind: fc.constant("run" as const), binary, args }),
  fc.record({ kind: fc.constant("run_env" as const), binary, args, name }),
  fc.record({
    kind: fc.constantFrom("read" as const, "write" as const),
    path: fc.constantFrom(
      "/",
      "/data",
      "/data/app",
      "/data/app/x",
      "/data/app/x/y",
      "/data/app-evil",
      "/data/app-evil/z",
      "workdir",
      "data",
    ),
  }),
  fc.record({
    kind: fc.constant("net" as const),
    host: fc.constantFrom("example.com", "a.example.com", "b.example.com", "x.b.example.com", "evil-example.com"),
    port: fc.constantFrom(443, 80),
  }),
  fc.record({ kind: fc.constant("env" as const), name }),
  fc.record({ kind: fc.constant("secret_env" as const), name, variable: name }),
  fc.record({
    kind: fc.constant("secret_host" as const),
    name,
    host: fc.constantFrom("example.com", "a.example.com", "x.b.example.com", "evil-example.com"),
    port: fc.constantFrom(443, 80),
  }),
  fc.record({ kind: fc.constant("kv" as const) }),
);
const questions = fc.array(question, { minLength: 20, maxLength: 20 });
const sources = fc.record({ requested: permissions, grant: permissions, deny: fc.oneof(fc.constant({}), permissions) });
const times = { numRuns: 400 };

describe("effectivePermissions", () => {
  it("is never wider than manifest, grant or request, and holds nothing denied", () => {
    fc.assert(
      fc.property(sources, permissions, questions, ({ requested, grant, deny }, request, all) => {
        const effective = effectivePermissions({ requested, grant, deny, request });
        for (const one of all) {
          if (!allows(effective, one)) continue;
          expect(allows(requested, one), "requested").toBe(true);
          expect(allows(grant, one, "grant"), "grant").toBe(true);
          expect(allows(request, one, "all"), "request").toBe(true);
          // A pattern of which a denial takes a part stays in the list; the call is decided by itself.
          if (one.kind !== "run" && one.kind !== "run_env") expect(denies(deny, one), "denied").toBe(false);
        }
      }),
      times,
    );
  });

  it("allows what all of them allow and nothing denies, where patterns are no bar", () => {
    fc.assert(
      fc.property(permissions, permissions, permissions, questions, (requested, grant, request, all) => {
        const effective = effectivePermissions({ requested, grant, deny: {}, request });
        for (const one of all) {
          // Two entries of a program may share the work of allowing a call; one must do it alone.
          if (one.kind === "run" || one.kind === "run_env") continue;
          const given = one.kind === "secret_env" || one.kind === "secret_host" ? "grant" : "none";
          const expected = allows(requested, one) && allows(grant, one, given) && allows(request, one, "all");
          expect(allows(effective, one)).toBe(expected);
        }
      }),
      times,
    );
  });

  it("gives back the manifest when all of it is granted", () => {
    fc.assert(
      fc.property(permissions, questions, (asked, all) => {
        // A variable of an entry is not given to a call that another entry contains more strictly.
        const alike = asked.run?.map(({ contain: _, contain_net: __, ...entry }) => entry);
        const requested = { ...asked, ...(alike && { run: alike }) };
        const bare = {
          ...requested,
          ...(requested.run ? { run: requested.run.map(({ binary }) => ({ binary })) } : {}),
        };
        for (const grant of [requested.run?.some((entry) => entry.env === undefined) ? bare : requested, bare]) {
          const effective = effectivePermissions({ requested, grant, deny: {} });
          for (const one of all) expect(allows(effective, one)).toBe(allows(requested, one));
        }
      }),
      times,
    );
  });

  it("contains a program where any of them does, and never more loosely", () => {
    const rank = (entry: RunPermission) => (entry.contain_net ? 2 : entry.contain === undefined ? 0 : 1);
    fc.assert(
      fc.property(sources, permissions, ({ requested, grant, deny }, request) => {
        const loosest = (permissions: Permissions, binary: string) =>
          Math.min(...(permissions.run ?? []).filter((entry) => entry.binary === binary).map(rank));
        for (const entry of effectivePermissions({ requested, grant, deny, request }).run ?? []) {
          // At the least what the loosest entry of each source asks.
          for (const source of [requested, grant, ...(request.run ? [request] : [])]) {
            expect(rank(entry)).toBeGreaterThanOrEqual(loosest(source, entry.binary));
          }
          if (entry.contain_net) expect(entry.contain).toBe("workdir");
        }
      }),
      times,
    );
  });

  it("is the same when it is applied to its own outcome", () => {
    fc.assert(
      fc.property(sources, permissions, ({ requested, grant, deny }, request) => {
        const once = effectivePermissions({ requested, grant, deny, request });
        const { run: _, ...others } = once;
        expect(effectivePermissions({ requested: others, grant, deny, request })).toEqual(others);
      }),
      times,
    );
  });

  it("does not depend on the order of entries", () => {
    const turned = (value: Permissions): Permissions =>
      Object.fromEntries(
        Object.entries(value).reverse().map(([key, item]) => [key, Array.isArray(item) ? [...item].reverse() : item]),
      );
    fc.assert(
      fc.property(sources, ({ requested, grant, deny }) => {
        expect(effectivePermissions({ requested: turned(requested), grant: turned(grant), deny: turned(deny) }))
          .toEqual(effectivePermissions({ requested, grant, deny }));
      }),
      times,
    );
  });

  it("only grows with more grants and only shrinks with more denials", () => {
    const both = (a: Permissions, b: Permissions): Permissions => ({
      ...Object.fromEntries(
        (["run", "read", "write", "net", "env", "secrets"] as const).map((
          key,
        ) => [key, [...(a[key] ?? []), ...(b[key] ?? [])]]),
      ),
      kv: (a.kv ?? false) || (b.kv ?? false),
    });
    fc.assert(
      fc.property(sources, permissions, questions, ({ requested, grant, deny }, more, all) => {
        const before = effectivePermissions({ requested, grant, deny });
        const granted = effectivePermissions({ requested, grant: both(grant, more), deny });
        const denied = effectivePermissions({ requested, grant, deny: both(deny, more) });
        for (const one of all) {
          // A wider pattern may meet a denial that a narrower one beside it escapes; both stay then.
          if (allows(before, one) && Object.keys(deny).length === 0) expect(allows(granted, one)).toBe(true);
          if (allows(denied, one)) expect(allows(before, one)).toBe(true);
        }
      }),
      times,
    );
  });
});

const ask = (requested: Permissions, grant: Permissions, rest: { deny?: Permissions; request?: Permissions } = {}) =>
  effectivePermissions({ requested, grant, deny: {}, ...rest });

describe("effectivePermissions, by example", () => {
  it("takes absent and empty as none in a manifest and a grant; in a request absent narrows nothing", () => {
    const all: Permissions = { read: ["workdir"], kv: true };
    expect(ask({}, all)).toEqual({});
    expect(ask(all, {})).toEqual({});
    expect(ask(all, { read: [], kv: true })).toEqual({ kv: true });
    expect(ask(all, all, { request: {} })).toEqual(all);
    expect(ask(all, all, { request: { read: [] } })).toEqual({ kv: true });
    expect(ask(all, all, { request: { kv: false } })).toEqual({ read: ["workdir"] });
  });

  it("gives a program that is granted without arguments those of the manifest, with its names", () => {
    const requested = { run: [{ binary: "git", args: ["log {...}", "status"], env: ["LANG"] }] };
    expect(ask(requested, { run: [{ binary: "git" }] })).toEqual(requested);
    expect(ask(requested, { run: [{ binary: "git", args: ["log -1", "push"] }] })).toEqual({
      run: [{ binary: "git", args: ["log -1"], env: ["LANG"] }],
    });
    expect(ask(requested, { run: [{ binary: "git", args: ["push"] }] })).toEqual({});
    expect(ask({ run: [{ binary: "git" }] }, { run: [{ binary: "git", args: ["{...}"] }] })).toEqual({
      run: [{ binary: "git" }],
    });
  });

  it("keeps a contained grant beside a wider one, for the broker takes the stricter", () => {
    const requested = { run: [{ binary: "git", args: ["{...}"] }] };
    const shut = { binary: "git", args: ["push {...}"], contain: "workdir" as const };
    expect(ask(requested, { run: [{ binary: "git" }, shut] }).run).toEqual([...requested.run, shut]);
    expect(ask(requested, { run: [{ binary: "git", contain_net: true }, shut] }).run)
      .toEqual([{ ...requested.run[0], contain: "workdir", contain_net: true }]);
    expect(ask({ run: [{ ...requested.run[0]!, contain: "workdir" }] }, { run: [{ binary: "git" }] }).run?.[0]?.contain)
      .toBe("workdir");
    expect(ask(requested, requested, { request: { run: [{ binary: "git", contain_net: true }] } }).run?.[0])
      .toMatchObject({ contain: "workdir", contain_net: true });
  });

  it("is explained with what contains it", () => {
    const requested = { run: [{ binary: "git", args: ["status"] }] };
    const grant = { run: [{ binary: "git", contain_net: true }] };
    expect(explainPermissions({ requested, grant, deny: {} })[0]?.why)
      .toBe("It is asked for and granted, contained in the working directory and without network.");
  });

  it("compares roots by whole segments and keeps the narrower", () => {
    expect(ask({ read: ["/data/app"] }, { read: ["/data"] })).toEqual({ read: ["/data/app"] });
    expect(ask({ read: ["/data"] }, { read: ["/data/app/"] })).toEqual({ read: ["/data/app/"] });
    expect(ask({ read: ["/data/app-evil"] }, { read: ["/data/app"] })).toEqual({});
    expect(ask({ read: ["/data/app/../app-evil"] }, { read: ["/data/app"] })).toEqual({});
  });

  it("knows where named roots are when it is told", () => {
    const places = { workdir: "/home/me", data: "/var/data" };
    const grant = { read: ["workdir"] };
    expect(effectivePermissions({ requested: grant, grant, deny: { read: ["/home/me/.ssh"] }, places })).toEqual({});
    expect(effectivePermissions({ requested: grant, grant: { read: ["/home"] }, deny: {}, places })).toEqual(grant);
  });

  it("takes away a root that holds a denied one, and one within a denied one", () => {
    expect(ask({ write: ["/a", "/b/c"] }, { write: ["/"] }, { deny: { write: ["/a/secret", "/b"] } })).toEqual({});
  });

  it("narrows wildcards of names, not to the name itself nor to look-alikes", () => {
    expect(ask({ net: ["api.example.com:443", "example.com:443"] }, { net: ["*.Example.com:443"] })).toEqual({
      net: ["api.example.com:443"],
    });
    expect(ask({ net: ["*.example.com:443"] }, { net: ["*.api.example.com:443"] })).toEqual({
      net: ["*.api.example.com:443"],
    });
    expect(ask({ net: ["evil-example.com:443"] }, { net: ["*.example.com:443"] })).toEqual({});
    expect(ask({ net: ["example.com:80"] }, { net: ["example.com:443"] })).toEqual({});
    expect(
      ask({ net: ["*.example.com:443"] }, { net: ["*.example.com:443"] }, { deny: { net: ["a.example.com:443"] } }),
    ).toEqual({});
  });

  it("denies a whole pattern, a whole program, or only a name; a part of a pattern at the call", () => {
    const requested = { run: [{ binary: "git", args: ["log {...}", "{*}"], env: ["A", "B"] }] };
    const grant = { run: [{ binary: "git" }] };
    expect(ask(requested, grant, { deny: { run: [{ binary: "git", args: ["push"] }] } }).run?.[0]?.args).toEqual([
      "log {...}",
      "{*}",
    ]);
    expect(ask(requested, grant, { deny: { run: [{ binary: "git", args: ["log {...}"] }] } }).run?.[0]?.args).toEqual([
      "{*}",
    ]);
    expect(ask(requested, grant, { deny: grant })).toEqual({});
    expect(ask(requested, grant, { deny: { run: [{ binary: "git", env: ["A"] }] } }).run?.[0]?.env).toEqual(["B"]);
  });

  it("takes the smallest of all ceilings", () => {
    expect(
      ask({ limits: { children: 4 } }, { limits: { children: 2, file_bytes: 9 } }, {
        request: { limits: { file_bytes: 5 } },
      }),
    )
      .toEqual({ limits: { children: 2, file_bytes: 5 } });
  });
});

describe("explainPermissions", () => {
  it("has a row for each thing asked for, with why, and for each grant nobody asked for", () => {
    const rows = explainPermissions({
      requested: {
        run: [{ binary: "git", args: ["log {...}", "push"], env: ["LANG"] }],
        read: ["workdir", "/data"],
        net: ["example.com:443"],
        secrets: [{ name: "KEY", env: ["TOKEN"], hosts: ["example.com:443"] }],
        limits: { children: 4 },
      },
      grant: {
        run: [{ binary: "git" }],
        read: ["/data/app", "workdir"],
        secrets: [{ name: "KEY" }, { name: "OTHER" }],
        env: ["HOME"],
        limits: { children: 2 },
      },
      deny: { run: [{ binary: "git", args: ["push {...}"] }], net: ["telemetry.example.com:443"] },
      request: { secrets: [{ name: "KEY", env: ["TOKEN"] }] },
    });
    const said = rows.map((
      row,
    ) => [row.permission, row.target, row.requested, row.granted, row.denied, row.effective.join()]);
    expect(said).toEqual([
      ["run", "git log {...}", true, true, false, "git log {...}"],
      ["run", "git push", true, true, true, ""],
      ["run_env", "git LANG", true, true, false, "git LANG"],
      ["read", "workdir", true, true, false, "workdir"],
      ["read", "/data", true, true, false, "/data/app"],
      ["net", "example.com:443", true, false, false, ""],
      ["secrets", "KEY in TOKEN", true, true, false, "KEY in TOKEN"],
      ["secrets", "KEY to example.com:443", true, true, false, ""],
      ["limits", "children 4", true, true, false, "children 2"],
      ["env", "HOME", false, true, false, ""],
      ["secrets", "OTHER", false, true, false, ""],
      ["net", "telemetry.example.com:443", false, false, true, ""],
    ]);
    expect(rows.map(({ why }) => why)).toEqual([
      "It is asked for and granted.",
      "It is granted and also denied; what is denied counts.",
      "It is asked for and granted.",
      "It is asked for and granted.",
      "It is allowed as far as /data/app.",
      "The manifest asks for it, and it is not granted.",
      "It is asked for and granted.",
      "It is granted, and this session's request leaves it out.",
      "A smaller ceiling of 2 is set for it.",
      "It is granted, but the manifest does not ask for it.",
      "It is granted, but the manifest does not ask for it.",
      "It is denied, and no one is asked about it.",
    ]);
  });

  const rowsOf = (requested: Permissions, grant: Permissions, deny: Permissions = {}) =>
    explainPermissions({ requested, grant, deny }).map(({ target, granted, denied, effective, why }) => ({
      target,
      granted,
      denied,
      effective,
      why,
    }));

  it("says as the broker does that a grant of the working directory does not open what programs act on", () => {
    const requested = { write: ["workdir", "workdir:package.json"] };
    const [named, workdir] = rowsOf(requested, { write: ["workdir"] });
    expect(named).toMatchObject({ target: "workdir:package.json", granted: false, effective: [] });
    expect(named?.why).toMatch(/and it is not granted: .* act on "package.json" by themselves/);
    expect(workdir).toMatchObject({ target: "workdir", granted: true, effective: ["workdir"] });
    expect(rowsOf(requested, requested)[0]).toMatchObject({ granted: true, effective: ["workdir:package.json"] });
  });

  it("tells a part that is denied from the rest, which is allowed", () => {
    const asked = { run: [{ binary: "git", args: ["show {}", "log"] }], net: ["*.example.com:443"], read: ["workdir"] };
    const deny = {
      run: [{ binary: "git", args: ["show secret"] }, { binary: "git", env: ["A"] }],
      net: ["a.example.com:443"],
      read: ["workdir:closed"],
    };
    expect(rowsOf(asked, asked, deny).map(({ denied, effective }) => [denied, ...effective])).toEqual([
      [false, "*.example.com:443 (not a.example.com:443)"],
      [false, "git show {} (not git show secret)"],
      [false, "git log"],
      [false, "workdir (not workdir:closed)"],
    ]);
  });

  it("shows a grant that overlaps with what is asked for, where neither holds the other", () => {
    const [row] = rowsOf({ run: [{ binary: "cat", args: ["{}.txt"] }] }, { run: [{ binary: "cat", args: ["a{}"] }] });
    expect(row).toMatchObject({ granted: true, effective: ["cat a{}"], why: "It is allowed as far as cat a{}." });
  });
});
