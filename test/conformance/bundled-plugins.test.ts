import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KitHost, openKitHost } from "../../core/conformance/kit-host.ts";
import { testPlugin } from "../../core/conformance/test-plugin.ts";

const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));

let kit: KitHost;
beforeAll(async () => {
  kit = await openKitHost();
});
afterAll(() => kit[Symbol.asyncDispose]());

test.each(["codex", "gemini-cli", "kiro", "qchat", "openai-compatible", "anthropic-api", "replay", "repo-census"])(
  "plugins/%s keeps the contract",
  async (id) => {
    const report = await testPlugin(join(plugins, id), { kit });
    expect(report.rules.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(report).toMatchObject({ conformance: 1, plugin_id: id, passed: true });
  },
  120_000,
);
