import { expect, test } from "vitest";
import {
  allowedBy,
  grantsFor,
  judgeUses,
  type PastUse,
  type TypedGrant,
} from "../../../core/packages/permissions/try-grant.ts";
import { shownPermissions } from "../../../core/packages/permissions/shown-permissions.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

function plugin(asked: Permissions, { grant = {}, deny = {} }: { grant?: Permissions; deny?: Permissions } = {}) {
  const fake = fakePlugin("alpha");
  return { ...fake, manifest: { ...fake.manifest, permissions: asked }, grant, deny };
}

const git: Permissions = { run: [{ binary: "git", args: ["push", "{...}"] }] };
const rows = (asked: Permissions, grant: TypedGrant, more: { grant?: Permissions; deny?: Permissions } = {}) =>
  allowedBy(plugin(asked, more), { grants: [grant], places: { path: [] } }).map((row) =>
    `${row.permission} ${row.target}`
  );

test("allowedBy lists every row that a grant would allow, as the broker decides it", () => {
  expect(rows(git, { permission: "run", target: "git push" })).toEqual(["run git push"]);
  expect(rows(git, { permission: "run", target: "git" }).sort()).toEqual(["run git push", "run git {...}"]);
  const files = { write: ["workdir", "workdir:package.json"] };
  expect(rows(files, { permission: "write", target: "workdir" })).toEqual(["write workdir"]);
  expect(rows(files, { permission: "write", target: "workdir:package.json" })).toEqual(["write workdir:package.json"]);
});

test("allowedBy lists nothing for a grant that changes nothing", () => {
  const given = { permission: "net", target: "a.example:443" } as const;
  const asked = { net: ["a.example:443"] };
  expect(rows({}, given)).toEqual([]);
  expect(rows(asked, given, { deny: asked })).toEqual([]);
  expect(rows(asked, given, { grant: asked })).toEqual([]);
  expect(rows(asked, given)).toEqual(["net a.example:443"]);
});

const files: Permissions = { write: ["workdir"], read: ["workdir"] };

test.each<[string, Permissions, TypedGrant, PastUse, string]>([
  [
    "a host below",
    { net: ["*.a.example:443"] },
    { permission: "net", target: "*.a.example:443" },
    { permission: "net", target: "x.a.example:443" },
    "allowed",
  ],
  [
    "the host itself",
    { net: ["*.a.example:443"] },
    { permission: "net", target: "*.a.example:443" },
    { permission: "net", target: "a.example:443" },
    "refused",
  ],
  ["a host that the manifest does not ask for", {}, { permission: "net", target: "a.example:443" }, {
    permission: "net",
    target: "a.example:443",
  }, "refused"],
  ["a program with other arguments", git, { permission: "run", target: "git push" }, {
    permission: "run",
    target: "git",
  }, "unclear"],
  ["a whole program", git, { permission: "run", target: "git" }, { permission: "run", target: "git" }, "allowed"],
  ["another program", git, { permission: "run", target: "git" }, { permission: "run", target: "curl" }, "refused"],
  ["a file in the session's folder", files, { permission: "read", target: "workdir" }, {
    permission: "read",
    target: "/srv/shop/src/a.ts",
    workdir: "/srv/shop",
  }, "allowed"],
  ["a file of another folder", files, { permission: "read", target: "workdir" }, {
    permission: "read",
    target: "/srv/other/a.ts",
    workdir: "/srv/shop",
  }, "refused"],
  ["a file that programs act on", files, { permission: "write", target: "workdir" }, {
    permission: "write",
    target: "/srv/shop/package.json",
    word: "workdir:package.json",
  }, "refused"],
  ["such a file by its name", { write: ["workdir"] }, { permission: "write", target: "workdir:package.json" }, {
    permission: "write",
    target: "/srv/shop/package.json",
    word: "workdir:package.json",
  }, "allowed"],
  ["a variable", { env: ["LANG"] }, { permission: "env", target: "LANG" }, {
    permission: "env",
    target: "LANG",
  }, "allowed"],
  [
    "a secret in its variable",
    { secrets: [{ name: "KEY", env: ["TOKEN"] }] },
    { permission: "secrets", target: "KEY" },
    {
      permission: "secrets",
      target: "KEY in TOKEN",
    },
    "allowed",
  ],
  ["a secret elsewhere", { secrets: [{ name: "KEY", env: ["TOKEN"] }] }, { permission: "secrets", target: "KEY" }, {
    permission: "secrets",
    target: "KEY in OTHER",
  }, "refused"],
  ["the store", { kv: true }, { permission: "kv", target: "kv" }, { permission: "kv", target: "kv" }, "allowed"],
])("judgeUses of %s", (_, asked, grant, use, judged) => {
  expect(judgeUses(plugin(asked), grant)(use)).toBe(judged);
});

test("judgeUses counts what is denied, and without a grant those that the plugin has", () => {
  const net = ["a.example:443"];
  const use = { permission: "net", target: "a.example:443" };
  expect(judgeUses(plugin({ net }, { deny: { net } }), { permission: "net", target: "a.example:443" })(use)).toBe(
    "refused",
  );
  expect(judgeUses(plugin({ net }))(use)).toBe("refused");
  expect(judgeUses(plugin({ net }, { grant: { net } }))(use)).toBe("allowed");
});

test("grantsFor gives the row that a denial named, and all that may be it where it named the program alone", () => {
  const asked: Permissions = { run: [{ binary: "git", args: ["push", "log {...}"] }] };
  const grants = (word?: string, more: { grant?: Permissions } = {}) => {
    const one = plugin(asked, more);
    const use = { permission: "run", target: "git", ...(word === undefined ? {} : { word }) };
    return grantsFor(one, { rows: shownPermissions(one, { path: [] }), use }).map(({ target }) => target);
  };
  expect(grants("git push")).toEqual(["git push"]);
  expect(grants("git log {...}")).toEqual(["git log {...}"]);
  expect(grants("git").sort()).toEqual(["git log {...}", "git push"]);
  expect(grants().sort()).toEqual(["git log {...}", "git push"]);
  const given = { grant: { run: [{ binary: "git", args: ["log {...}"] }] } };
  expect(grants("git push", given)).toEqual(["git push"]);
  expect(grants("git log {...}", given)).toEqual([]);
});

test("judgeUses judges a program by the arguments that its denial named", () => {
  const asked: Permissions = { run: [{ binary: "git", args: ["push", "log {...}"] }] };
  const judged = (target: string, word: string) =>
    judgeUses(plugin(asked), { permission: "run", target })({ permission: "run", target: "git", word });
  expect(judged("git push", "git push")).toBe("allowed");
  expect(judged("git", "git push")).toBe("allowed");
  expect(judged("git log {...}", "git push")).toBe("refused");
  expect(judged("git push", "git")).toBe("unclear");
});
