import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { defaultLimits } from "../../core/ground/config/limits.ts";
import { bundlePlugin } from "../../core/packages/bundler/plugin-script.ts";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { openHost } from "../sessions/host/test-host.ts";

const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));
// Whatever is there: without one of them the rest holds as before.
const ours = (await readdir(plugins, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) =>
  name
)
  .sort();

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

test.each(ours)("plugins/%s says of itself in its code what its manifest says", async (id) => {
  const { entry, ...manifest } = await readManifest(join(plugins, id));
  if (entry === undefined) return;
  const { default: Adapter } = await import(new URL(`../../plugins/${id}/mod.ts`, import.meta.url).href);
  const { name, version, capabilities } = new Adapter();
  expect({ name, version, capabilities }).toEqual({
    name: manifest.name,
    version: manifest.version,
    capabilities: manifest.capabilities,
  });
});

test.each(ours)("without plugins/%s every other plugin is found as before", async (id) => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-packages-")));
  try {
    const others = ours.filter((other) => other !== id);
    const bundledDir = join(root, "plugins");
    for (const other of others) {
      // What the host reads before a plugin is used; its code is bundled above, and imports no other plugin.
      await mkdir(join(bundledDir, other), { recursive: true });
      for (const name of await readdir(join(plugins, other))) {
        if (/\.(yaml|json|ts|mjs)$/.test(name)) {
          await copyFile(join(plugins, other, name), join(bundledDir, other, name));
        }
      }
    }
    const { host } = await openHost({ bundledDir });
    expect(host.registry.problems()).toEqual([]);
    expect(host.registry.list().map((plugin) => plugin.id).sort()).toEqual(others);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test("a plugin's folder is reached for by tests of that plugin alone, so without it the others pass", async () => {
  const top = fileURLToPath(new URL("../../", import.meta.url));
  const sources = await Promise.all(["core", "plugin-sdk", "test"].map(async (folder) => {
    const names = await readdir(join(top, folder), { recursive: true });
    return names.filter((name) => /\.(ts|mjs)$/.test(name) && !name.includes("node_modules")).map((name) =>
      `${folder}/${name}`
    );
  }));
  const reached = await Promise.all(
    sources.flat().map(async (path) => {
      const text = await readFile(join(top, path), "utf8");
      const found = new Set([...text.matchAll(/["'`/]plugins\/([a-z-]+)[/"'`]/g)].map(([, id]) => id!));
      return { path, ids: [...found].filter((id) => ours.includes(id)) };
    }),
  );
  // Several at a time: the one that looks first whether they are there.
  const many = reached.filter(({ ids }) => ids.length > 1).map(({ path }) => path);
  expect(many).toEqual(["test/plugins/every-recording.ts"]);
  // The proving ground reads a plugin's own code only in a file that is named for it.
  const apart = /^test\/(plugins|bench)\/|^test\/agents\/proving-ground\/codex-turns\.test\.ts$/;
  const others = reached.filter(({ path, ids }) => ids.length > 0 && !apart.test(path));
  expect(others).toEqual([{ path: "test/sessions/host/record.test.ts", ids: ["replay"] }]);
});
