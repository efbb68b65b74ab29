import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KitHost, openKitHost } from "../../../core/kit/conformance/kit-host.ts";
import { testPlugin } from "../../../core/kit/conformance/test-plugin.ts";

const plugins = fileURLToPath(new URL("../../../plugins/", import.meta.url));
const ours = (await readdir(plugins, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  .map(({ name }) => name).sort();

let kit: KitHost;
beforeAll(async () => {
  kit = await openKitHost();
});
afterAll(() => kit[Symbol.asyncDispose]());

/** They drive no program of somebody else's and ask no server. */
const withoutTool = ["memory-hog", "replay", "repo-census"];

// At once: most of a trial is waiting for tools that hang.
test.concurrent.each(ours)("plugins/%s keeps the contract", async (id) => {
  const report = await testPlugin(join(plugins, id), { kit });
  expect(report.rules.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  expect(report).toMatchObject({ conformance: 1, plugin_id: id, passed: true, isolation: "process" });
  // With its tool scripted, so that it was made to misbehave.
  const misbehaved = report.rules.find(({ rule }) => rule === "tool-exits")?.outcome === "passed";
  expect(misbehaved).toBe(!withoutTool.includes(id));
}, 240_000);
