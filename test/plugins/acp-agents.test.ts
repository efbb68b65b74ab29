import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { knownAgents } from "../../plugins/acp/agents.ts";

test("every variable that a known agent is given is one that the manifest asks for it", async () => {
  const manifest = await readManifest(fileURLToPath(new URL("../../plugins/acp", import.meta.url)));
  const needed = manifest.permissions_for?.["agent"] ?? {};
  for (const [name, { command, set = {}, asking }] of knownAgents) {
    const entry = needed[name]?.run?.find(({ binary }) => binary === command);
    expect(entry?.env ?? [], name).toEqual(expect.arrayContaining(Object.keys({ ...set, ...asking?.set })));
  }
  expect(knownAgents.get("claude")?.set).toEqual({ CLAUDE_CODE_MAX_RETRIES: "2" });
});
