import { expect, test } from "vitest";
import { openGrants } from "../../../core/packages/permissions/open-grants.ts";
import { shownPermissions } from "../../../core/packages/permissions/shown-permissions.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

function open(asked: Permissions, { grant = {}, deny = {} }: { grant?: Permissions; deny?: Permissions } = {}) {
  const fake = fakePlugin("alpha");
  const plugin = { ...fake, manifest: { ...fake.manifest, permissions: asked }, grant, deny };
  const places = { path: [] };
  return openGrants(plugin, { rows: shownPermissions(plugin, places), places }).map((
    { is_grave, grants, also_allows },
  ) => [
    is_grave,
    grants.map(({ permission, target }) => `${permission} ${target}`),
    also_allows.map(({ permission, target }) => `${permission} ${target}`).sort(),
  ]);
}

const git: Permissions = { run: [{ binary: "git", args: ["push", "{...}"], env: ["LANG"] }] };

test("openGrants grants each row alone, what amounts to everything and keys by themselves, and says what else", () => {
  expect(open({ ...git, env: ["API_KEY"], kv: true })).toEqual([
    [false, ["run git push", "kv kv"], ["run_env git LANG"]],
    [true, ["run git {...}"], ["run git push", "run_env git LANG"]],
    [true, ["env API_KEY"], []],
  ]);
});

test("openGrants leaves out what is granted or denied", () => {
  const asked: Permissions = { net: ["a.example:443", "b.example:443"], read: ["workdir"] };
  expect(open(asked, { grant: { net: ["a.example:443"] }, deny: { read: ["workdir"] } })).toEqual([
    [false, ["net b.example:443"], []],
  ]);
});

test("openGrants names a program alone for many forms of it, where all are open and alike", () => {
  const args = ["--version", "status", "build {}", "test {}"];
  const tool: Permissions = { run: [{ binary: "tool", args }] };
  expect(open(tool)).toEqual([[false, ["run tool"], []]]);
  const some = open(tool, { grant: { run: [{ binary: "tool", args: ["status"] }] } });
  expect(some).toEqual([[false, ["run tool --version", "run tool build {}", "run tool test {}"], []]]);
  const mixed = open({ run: [{ binary: "git", args: [...args, "{...}"] }] });
  expect(mixed.map(([, grants]) => grants)).toEqual([expect.not.arrayContaining(["run git"]), ["run git {...}"]]);
});
