import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codeDigest } from "../../../core/packages/registry/code-digest.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { manifestText, writePackage } from "./package-folder.ts";

const files = {
  "plugin.yaml": manifestText(),
  "mod.ts": "one",
  "node_modules/a/index.js": "a",
  "link.ts": "-> ./mod.ts",
};

async function digestOf(changes: Record<string, string | null> = {}, more: Partial<Plugin> = {}) {
  const all = Object.entries<string | null>({ ...files, ...changes }).filter(([, text]) => text !== null);
  const folder = await writePackage(Object.fromEntries(all) as Record<string, string>);
  return await codeDigest({ origin: "folder", folder, manifest: {}, ...more } as Plugin);
}

test("a folder has the digest of all its files, wherever it lies", async () => {
  const digest = await digestOf();
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(await digestOf({}, { origin: "bundled" })).toBe(digest);
  expect(await digestOf({ ".git/HEAD": "ref: x" })).toBe(digest);
  const changes: Record<string, string | null>[] = [
    { "mod.ts": "two" },
    { "plugin.yaml": manifestText({ version: "0.2.0" }) },
    { "node_modules/a/index.js": "b" },
    { "link.ts": "-> ./plugin.yaml" },
    { "link.ts": null },
    { "more.ts": "" },
  ];
  for (const change of changes) expect(await digestOf(change)).not.toBe(digest);
});

test("a folder that is gone has none, an installed package that of its locked files, a tool that of what it runs", async () => {
  const folder = await writePackage(files);
  await rm(folder, { recursive: true });
  expect(await codeDigest({ origin: "folder", folder, manifest: {} } as Plugin)).toBeNull();
  const locked = { "mod.js": "aa", "plugin.yaml": "bb" };
  const installed = (hashes: Record<string, string>) => codeDigest({ folder: join(folder, "x"), hashes } as Plugin);
  expect(await installed(locked)).toBe(await installed({ "plugin.yaml": "bb", "mod.js": "aa" }));
  expect(await installed(locked)).not.toBe(await installed({ ...locked, "mod.js": "ab" }));
  const tool = (cli: object) => codeDigest({ origin: "inline", folder, manifest: { cli } } as Plugin);
  expect(await tool({ binary: "a", command_template: "b" })).toBe(await tool({ command_template: "b", binary: "a" }));
  expect(await tool({ binary: "a", command_template: "b" })).not.toBe(
    await tool({ binary: "a", command_template: "c" }),
  );
});
