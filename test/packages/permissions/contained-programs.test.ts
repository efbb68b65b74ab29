import { expect, test } from "vitest";
import { allContained } from "../../../core/packages/permissions/contained-programs.ts";
import { programWalls } from "../../../core/packages/permissions/program-walls.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";

function pluginOf(asked: Omit<RunPermission, "binary">, grant: Permissions, deny: Permissions = {}) {
  const manifest: Manifest = {
    manifest: 1,
    id: "demo",
    name: "Demo",
    version: "1.0.0",
    description: "Demo.",
    adapter_type: "agent",
    license: "MIT",
    host: ">=0.1",
    capabilities: {},
    entry: "./demo.mjs",
    permissions: { run: [{ binary: "cat", ...asked }] },
  };
  return { manifest, grant, deny, os_walls: defaultOsWallUses };
}

const off = (args?: string[]): Permissions => ({
  run: [{ binary: "cat", contain: "off", ...(args === undefined ? {} : { args }) }],
});

test.each<[string, ReturnType<typeof pluginOf>, boolean]>([
  ["a grant that says nothing", pluginOf({}, { run: [{ binary: "cat" }] }), true],
  ["a grant with contain: off", pluginOf({}, off()), false],
  ["one whose arguments overlap with those asked for", pluginOf({ args: ["{}.txt"] }, off(["a{}"])), false],
  ["one for a program that is denied", pluginOf({}, off(), { run: [{ binary: "cat" }] }), true],
  [
    "one of which a denial takes a part",
    pluginOf({ args: ["{}"] }, off(), { run: [{ binary: "cat", args: ["x"] }] }),
    false,
  ],
  ["one for a program that the manifest contains", pluginOf({ contain: "workdir" }, off()), true],
])("programs are told to be contained only where each of their calls is: %s", (_, plugin, expected) => {
  expect(allContained(plugin)).toBe(expected);
  expect(programWalls(plugin).map(({ contained }) => contained !== "none")).toEqual([expected]);
});
