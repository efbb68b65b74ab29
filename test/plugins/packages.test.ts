import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryContext } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import AcpAgent from "../../plugins/acp/mod.ts";
import Codex from "../../plugins/codex/mod.ts";
import GeminiCli from "../../plugins/gemini-cli/mod.ts";
import MemoryHog from "../../plugins/memory-hog/mod.ts";
import OpenCode from "../../plugins/opencode/mod.ts";
import { defaultLimits } from "../../core/config/limits.ts";
import { bundlePlugin } from "../../core/registry/plugin-script.ts";
import { readManifest } from "../../core/registry/read-manifest.ts";

const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));
const ours = [
  "acp",
  "anthropic-api",
  "claude-code",
  "codex",
  "gemini-cli",
  "kiro",
  "memory-hog",
  "openai-compatible",
  "opencode",
  "qchat",
  "replay",
  "repo-census",
];

test.each(ours)("plugins/%s is a package as a third party would publish it", async (id) => {
  const manifest = await readManifest(join(plugins, id));
  const pack: Record<string, unknown> = JSON.parse(await readFile(join(plugins, id, "package.json"), "utf8"));
  expect(manifest.id).toBe(id);
  expect(pack).toMatchObject({
    name: `@bulkhead/plugin-${id}`,
    type: "module",
    version: manifest.version,
    license: manifest.license,
    keywords: ["bulkhead-plugin"],
  });
  expect(await readdir(join(plugins, id))).toContain("README.md");
});

test.each(ours)("plugins/%s bundles to one small script", async (id) => {
  const folder = join(plugins, id);
  const manifest = await readManifest(folder);
  const script = await bundlePlugin({ folder, manifest, limits: defaultLimits, origin: "bundled" });
  expect(script.sha256).toMatch(/^[0-9a-f]{64}$/);
  // The protocol's library with its schemas is nine tenths of that one.
  expect(script.text.length).toBeLessThan(id === "acp" ? 320_000 : 200_000);
});

test.each([AcpAgent, Codex, GeminiCli, OpenCode])(
  "the adapter %o says of itself what its manifest says",
  async (Adapter) => {
    const { id, name, version, capabilities } = new Adapter();
    const manifest = await readManifest(join(plugins, id));
    expect({ id, name, version, capabilities }).toEqual({
      id: manifest.id,
      name: manifest.name,
      version: manifest.version,
      capabilities: manifest.capabilities,
    });
  },
);

test("memory-hog behaves at first", async () => {
  const session = new MemoryHog().runSession({ workdir: "/work", prompt: "" }, new MemoryContext());
  expect((await session.next()).value).toEqual({ type: "progress", message: "behaving for a moment" });
  await session.return();
});
