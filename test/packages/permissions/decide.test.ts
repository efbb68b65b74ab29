import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type PermissionCall,
  type PermissionLists,
  rightsOf,
} from "../../../core/packages/permissions/decide.ts";
import { containLevel } from "../../../core/ground/config/contain-level.ts";
import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";
import { matchesArguments, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";

/** The rules as the documentation states them, written for this test alone: which entries of a list speak of a call. */
const speaking = {
  run: (list: Permissions, call: PermissionCall & { kind: "run" }, party: Party) =>
    (list.run ?? []).filter((entry) => {
      if (entry.binary !== call.binary) return false;
      if (entry.args === undefined) {
        if (party === "deny") return entry.env === undefined;
        if (party !== "requested") return true;
      }
      const lines = entry.args === undefined || entry.args.length === 0 ? [""] : entry.args;
      return lines.some((line) => matchesArguments(parseArgumentPattern(line), call.args));
    }),
  path: (roots: readonly string[] = [], path: string) =>
    roots.filter((root) => root === path || path.startsWith(root === "/" ? "/" : `${root}/`)),
  host: (hosts: readonly string[] = [], { host, port }: { host: string; port: number }) =>
    hosts.filter((entry) => {
      const at = entry.lastIndexOf(":");
      const name = entry.slice(0, at).toLowerCase();
      if (entry.slice(at + 1) !== String(port)) return false;
      return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
    }),
  secret: (list: Permissions, call: PermissionCall & { kind: "secrets" }, party: Party): unknown[] =>
    (list.secrets ?? []).filter(({ name, env, hosts }) => {
      if (name !== call.name) return false;
      if (env === undefined && hosts === undefined) return party !== "requested";
      return call.env === undefined ? speaking.host(hosts, call.host!).length > 0 : (env ?? []).includes(call.env);
    }),
};

type Party = keyof PermissionLists;

function speaks(list: Permissions, call: PermissionCall, party: Party): boolean {
  switch (call.kind) {
    case "run":
      return speaking.run(list, call, party).length > 0;
    case "read":
    case "write":
      return speaking.path(list[call.kind], call.path).length > 0;
    case "net":
      return speaking.host(list.net, call.target).length > 0;
    case "env":
      return (list.env ?? []).includes(call.name);
    case "secrets":
      return speaking.secret(list, call, party).length > 0;
    case "mcp_servers":
      return (list.mcp_servers ?? []).includes(call.binary);
    case "kv":
      return list.kv === true;
  }
}

/** Manifest, grant and request each allow it, and no denial matches it. */
function model({ requested, grant, deny, request }: PermissionLists, call: PermissionCall): boolean {
  const isNarrowed = request !== undefined && request[call.kind] !== undefined;
  return speaks(requested, call, "requested") && speaks(grant, call, "grant") &&
    (!isNarrowed || speaks(request, call, "request")) && !speaks(deny, call, "deny");
}

/** The strictest of all entries that match; `off` counts in a grant alone. */
function modelLevel({ requested, grant, request }: PermissionLists, call: PermissionCall & { kind: "run" }): number {
  const levels = (list: Permissions, party: Party) => speaking.run(list, call, party).map(containLevel);
  const others = [...levels(requested, "requested"), ...request?.run ? levels(request, "request") : []];
  return Math.max(...levels(grant, "grant"), ...others.map((level) => (level < 2 ? 0 : level)));
}

/** A variable that each list names in an entry that matches, at least one of them as strict as the run itself. */
function modelEnv(lists: PermissionLists, call: PermissionCall & { kind: "run" }): string[] {
  const { requested, grant, deny, request } = lists;
  return ["A", "B"].filter((name) => {
    if ((deny.run ?? []).some(({ binary, env }) => binary === call.binary && env?.includes(name))) return false;
    const naming = (list: Permissions, party: Party): Permissions => ({
      run: speaking.run(list, call, party).filter(({ env }) =>
        env === undefined ? party !== "requested" : env.includes(name)
      ),
    });
    const named = {
      requested: naming(requested, "requested"),
      grant: naming(grant, "grant"),
      deny: {},
      request: request?.run && naming(request, "request"),
    };
    return model(named, call) && modelLevel(named, call) === modelLevel(lists, call);
  });
}

const binary = fc.constantFrom("git", "git", "git", "node");
const name = fc.constantFrom("A", "A", "B");
const word = fc.constantFrom("a", "-b", "@c", "--m=x", "--m={}", "--m={*}", "{}", "{*}", "{...}", "{}x", "a{}", "''");
const words = fc.array(word, { maxLength: 3 }).map((all) => all.join(" "));
const pattern = fc.oneof(fc.constantFrom("{...}", "{*} {...}", "a {...}", "{...} a", "{*}", "a"), words);
const root = fc.constantFrom("/", "/data", "/data/app", "/data/app-evil", "/data/app/x");
const net = fc.constantFrom(
  "a.example.com:443",
  "example.com:443",
  "*.Example.com:443",
  "*.b.example.com:443",
  "a.example.com:80",
);
const list = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 5, arbitrary: fc.array(one, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant([]) },
  );
const optional = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
const run = fc.record({
  binary,
  args: fc.oneof(fc.constant(undefined), list(pattern)),
  env: fc.oneof(fc.constant(undefined), list(name)),
  contain: fc.constantFrom(undefined, undefined, "workdir" as const, "off" as const),
  contain_net: fc.constantFrom(undefined, undefined, false, true),
}).map(optional) as fc.Arbitrary<RunPermission>;
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
  mcp_servers: list(binary),
  kv: fc.option(fc.boolean(), { nil: undefined }),
}).map(optional) as fc.Arbitrary<Permissions>;
const lists: fc.Arbitrary<PermissionLists> = fc.record({
  requested: permissions,
  grant: permissions,
  deny: fc.oneof(fc.constant({}), permissions),
  request: fc.option(permissions, { nil: undefined }),
});

const args = fc.array(fc.constantFrom("a", "a", "-b", "@c", "--m=x", "--m=y", "zx", "ax", ""), { maxLength: 3 });
const target = fc.record({
  host: fc.constantFrom("example.com", "a.example.com", "b.example.com", "x.b.example.com", "evil-example.com"),
  port: fc.constantFrom(443, 80),
});
const call: fc.Arbitrary<PermissionCall> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("run" as const), binary, args }) },
  fc.record({
    kind: fc.constantFrom("read" as const, "write" as const),
    path: fc.constantFrom("/", "/data", "/data/app", "/data/app/x", "/data/app/x/y", "/data/app-evil/z"),
    placesOf: fc.constant((root: string) => [root]),
  }),
  fc.record({ kind: fc.constant("net" as const), target }),
  fc.record({ kind: fc.constant("env" as const), name }),
  fc.record({ kind: fc.constant("secrets" as const), name, env: name }),
  fc.record({ kind: fc.constant("secrets" as const), name, host: target }),
  fc.record({ kind: fc.constant("mcp_servers" as const), binary }),
  fc.record({ kind: fc.constant("kv" as const) }),
);

describe("decide", () => {
  it("allows what manifest, grant and request each allow and no denial matches, as strictly contained as any says", () => {
    fc.assert(
      fc.property(lists, fc.array(call, { minLength: 20, maxLength: 20 }), (held, calls) => {
        for (const one of calls) {
          const decided = decide(held, one);
          expect(decided.allowed).toBe(model(held, one));
          if (one.kind !== "run" || !decided.allowed) continue;
          expect(containLevel(decided.run!)).toBe(modelLevel(held, one));
          expect(decided.run!.env ?? []).toEqual(modelEnv(held, one));
        }
      }),
      { seed: 43, numRuns: 250 },
    );
  });

  it("keeps the strictest containment of all that match, whatever a denial takes away", () => {
    const requested = { run: [{ binary: "git", args: ["show {}"] }] };
    const grant = {
      run: [{ binary: "git", args: ["show {}"], contain: "workdir" as const }, { binary: "git", args: ["show a"] }],
    };
    const deny = { run: [{ binary: "git", args: ["show b"] }] };
    const ask = (what: string) =>
      decide({ requested, grant, deny }, { kind: "run", binary: "git", args: ["show", what] });
    expect(ask("a")).toEqual({ allowed: true, run: { binary: "git", contain: "workdir" } });
    expect(ask("b")).toEqual({ allowed: false, against: "denial" });
  });

  it.each<[string, Permissions, Permissions, PermissionCall]>([
    [
      "a pattern",
      { run: [{ binary: "git", args: ["show {}"] }] },
      { run: [{ binary: "git", args: ["show secret"] }] },
      {
        kind: "run",
        binary: "git",
        args: ["show", "a"],
      },
    ],
    ["a domain", { net: ["*.example.com:443"] }, { net: ["a.example.com:443"] }, {
      kind: "net",
      target: { host: "b.example.com", port: 443 },
    }],
    ["a folder", { read: ["/data"] }, { read: ["/data/closed"] }, {
      kind: "read",
      path: "/data/open",
      placesOf: (place) => [place],
    }],
    ["the hosts of a secret", { secrets: [{ name: "A", hosts: ["*.example.com:443"] }] }, {
      secrets: [{ name: "A", hosts: ["a.example.com:443"] }],
    }, { kind: "secrets", name: "A", host: { host: "b.example.com", port: 443 } }],
  ])("a denial of a part of %s leaves the rest", (_, requested, deny, call) => {
    expect(decide({ requested, grant: requested, deny }, call)).toMatchObject({ allowed: true });
  });

  it("allows a call that fits two patterns of which neither holds the other", () => {
    const run = (line: string) => ({ run: [{ binary: "cat", args: [line] }] });
    const lists = { requested: run("{}.txt"), grant: run("a{}"), deny: {} };
    const ask = (file: string) => decide(lists, { kind: "run", binary: "cat", args: [file] }).allowed;
    expect([ask("a.txt"), ask("b.txt"), ask("a.md")]).toEqual([true, false, false]);
  });

  it("wants what programs act on by themselves named by the grant", () => {
    const call = { kind: "write", path: "/w/package.json", placesOf: (place: string) => [place] } as const;
    const requested = { write: ["/w", "/w/package.json"] };
    expect(decide({ requested, grant: { write: ["/w"] }, deny: {} }, call)).toEqual({
      allowed: false,
      against: "grant",
      because: expect.stringMatching(/act on "package.json" by themselves, and the grant does not name it$/),
    });
    expect(decide({ requested, grant: requested, deny: {} }, call).allowed).toBe(true);
  });

  it("takes a domain for spelled out only where some list has the name itself", () => {
    const call = { kind: "net", target: { host: "db.corp.internal", port: 80 }, isSpelledOut: true } as const;
    const wide = { net: ["*.corp.internal:80"] };
    expect(decide({ requested: wide, grant: wide, deny: {} }, call).allowed).toBe(false);
    expect(decide({ requested: wide, grant: { net: ["db.corp.internal:80"] }, deny: {} }, call).allowed).toBe(true);
  });

  it("lets a secret be used where a place may get it", () => {
    const requested = { secrets: [{ name: "KEY", env: ["TOKEN"], hosts: ["*.example.com:443"] }] };
    const ask = (list: Permissions["secrets"]) =>
      decide({ requested, grant: { secrets: list ?? [] }, deny: {} }, { kind: "secrets", name: "KEY" }).allowed;
    expect([ask([{ name: "KEY" }]), ask([{ name: "KEY", hosts: ["a.example.com:443"] }])]).toEqual([true, true]);
    expect([ask([{ name: "KEY", env: ["OTHER"] }]), ask([{ name: "OTHER" }])]).toEqual([false, false]);
  });
});

describe("rightsOf", () => {
  it("lets no manifest out of its walls, not even when a person approves", () => {
    const rights = rightsOf({
      requested: { run: [{ binary: "git", args: ["status"], contain: "off" }] },
      grant: {},
      deny: {},
    });
    const call = { kind: "run", binary: "git", args: ["status"] } as const;
    expect(rights.decide(call)).toEqual({ allowed: false, against: "grant" });
    expect(rights.reach?.(call)).toEqual({ allowed: true, run: { binary: "git" } });
  });
});
