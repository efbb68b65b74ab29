import { appendFile, mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { InputNotes, inputsHold } from "../../../core/packages/bundler/bundle-inputs.ts";
import { bundleOrder, type BundleSource } from "../../../core/packages/bundler/bundle-order.ts";
import { stopBundler } from "../../../core/packages/bundler/make-bundle.ts";
import { bundlePlugin } from "../../../core/packages/bundler/plugin-script.ts";
import { readKeptScript } from "../../../core/packages/bundler/script-cache.ts";
import { sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import { codeManifest, newFolder, writePackage } from "../registry/package-folder.ts";

afterAll(stopBundler);

const files = {
  "package.json": '{"dependencies": {"left": "1"}}',
  "mod.ts": 'import { own } from "./lib/own"; import left from "left"; export default own + left;\n',
  "lib/own.ts": "export const own: string = '<!-- own, ';\n",
  "node_modules/left/package.json": '{"name": "left", "main": "./a.js"}',
  "node_modules/left/a.js": "module.exports = 'a';\n",
  "node_modules/left/b.js": "module.exports = 'b';\n",
};

let source: BundleSource;
let cacheDir: string;

/** Written ahead, all at once: what changed a moment before a bundle began is not trusted. */
let packages: string[] = [];

beforeAll(async () => {
  packages = await Promise.all(Array.from({ length: 20 }, () => writePackage(files)));
  await settled();
});

beforeEach(async () => {
  source = { folder: packages.pop()!, manifest: codeManifest, limits: defaultLimits };
  cacheDir = join(await newFolder(), "scripts");
  await bundlePlugin(source, { cacheDir });
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1100));
}

async function kept() {
  return await readKeptScript(cacheDir, await bundleOrder(source));
}

async function valueNow(): Promise<unknown> {
  const { text } = await bundlePlugin(source, { cacheDir });
  return ((0, eval)(text) as { default: unknown }).default;
}

async function cacheFile(): Promise<string> {
  const [name, ...others] = await readdir(cacheDir);
  expect(others).toEqual([]);
  return join(cacheDir, name!);
}

describe("bundlePlugin with a cache", () => {
  it("takes the script that was made before, with its hash and its positions", async () => {
    const fresh = await bundlePlugin(source);
    const again = await bundlePlugin(source, { cacheDir });
    expect(again.text).toBe(fresh.text);
    expect(again.sha256).toBe(sha256Hex(fresh.text));
    const at = fresh.text.indexOf("own, ") + 1;
    const stack = `at plugin:demo:1:${at}`;
    expect(again.mapStack(stack)).toBe(fresh.mapStack(stack));
    expect(again.mapStack(stack)).toContain("lib/own.ts:1:");
    expect(await valueNow()).toBe("<!-- own, a");
  });

  it("keeps it for its owner alone", async () => {
    expect((await stat(await cacheFile())).mode & 0o777).toBe(0o600);
    expect((await stat(cacheDir)).mode & 0o777).toBe(0o700);
  });

  it("does not evaluate what was changed in the kept file, anywhere", async () => {
    const file = await cacheFile();
    const whole = await readFile(file, "utf8");
    for (const tampered of [whole.replace("own, ", "OWN, "), `${whole} `, whole.slice(0, -1), "", "{}\n", "null\n"]) {
      expect(tampered).not.toBe(whole);
      await writeFile(file, tampered);
      expect(await kept()).toBeNull();
      expect(await valueNow()).toBe("<!-- own, a");
    }
  });

  it("makes a script that nothing was kept of when it cannot write", async () => {
    await rm(cacheDir, { recursive: true });
    await writeFile(cacheDir, "");
    expect(await valueNow()).toBe("<!-- own, a");
  });

  it("drops those that were written longest ago", async () => {
    const others = Array.from({ length: 140 }, (_, n) => join(cacheDir, `other-${n}`));
    await Promise.all(others.map((file) => writeFile(file, "")));
    await appendFile(join(source.folder, "mod.ts"), "//\n");
    await settled();
    await bundlePlugin(source, { cacheDir });
    expect(await readdir(cacheDir)).toHaveLength(128);
    expect(await kept()).not.toBeNull();
  });

  it("is not used by another order", async () => {
    const order = await bundleOrder(source);
    expect(await readKeptScript(cacheDir, order)).not.toBeNull();
    for (
      const other of [{ maxBytes: 5 }, { nodeModules: ["/x"] }, { entry: { path: "lib/own.ts" } }, { pluginId: "x" }]
    ) {
      expect(await readKeptScript(cacheDir, { ...order, ...other })).toBeNull();
    }
  });
});

const changes: [name: string, change: (folder: string) => Promise<unknown>, value: string | null][] = [
  ["the entry", (folder) => appendFile(join(folder, "mod.ts"), "export const more = 1;\n"), "<!-- own, a"],
  ["a module, in length the same", (folder) => {
    return writeFile(join(folder, "lib/own.ts"), files["lib/own.ts"].replace("own, ", "new, "));
  }, "<!-- new, a"],
  ["a module of a dependency", (folder) => {
    return writeFile(join(folder, "node_modules/left/a.js"), "module.exports = 'A';\n");
  }, "<!-- own, A"],
  ["the dependency's package.json", (folder) => {
    return writeFile(join(folder, "node_modules/left/package.json"), '{"name": "left", "main": "./b.js"}');
  }, "<!-- own, b"],
  ["what the package depends on", (folder) => writeFile(join(folder, "package.json"), "{}"), null],
  ["a module that is gone", (folder) => unlink(join(folder, "lib/own.ts")), null],
  ["a file that is found before the module", (folder) => {
    return writeFile(join(folder, "lib/own.tsx"), "export const own = 1;");
  }, null],
  ["a folder in place of a link", async (folder) => {
    await rename(join(folder, "node_modules/left"), join(folder, "node_modules/.left"));
    await mkdir(join(folder, "node_modules/left"));
    await writeFile(join(folder, "node_modules/left/index.js"), "module.exports = 'index';\n");
  }, "<!-- own, index"],
  ["a link in place of a folder", async (folder) => {
    await rename(join(folder, "lib"), join(folder, "old"));
    await mkdir(join(folder, "new"));
    await writeFile(join(folder, "new/own.ts"), "export const own = 'linked, ';\n");
    await symlink("new", join(folder, "lib"));
  }, "linked, a"],
  ["a package.json above a module", (folder) => {
    return writeFile(join(folder, "lib/package.json"), '{"sideEffects": false}');
  }, "<!-- own, a"],
];

describe("a kept script is made anew after a change of", () => {
  it.each(changes)("%s", async (_name, change, value) => {
    expect(await kept()).not.toBeNull();
    await change(source.folder);
    expect(await kept()).toBeNull();
    if (value === null) await bundlePlugin(source, { cacheDir }).catch(() => {});
    else expect(await valueNow()).toBe(value);
  });
});

describe("InputNotes.collect", () => {
  const begin = () => {
    const notes = new InputNotes();
    notes.module(join(source.folder, "mod.ts"), new TextEncoder().encode(files["mod.ts"]));
    notes.place(join(source.folder, "lib/own.ts"));
    return notes;
  };

  it("gives what was noted, which holds", async () => {
    const inputs = await begin().collect();
    expect(inputs).not.toBeNull();
    expect(await inputsHold(inputs!)).toBe(true);
  });

  it("gives nothing when a file or folder changed since the bundle was begun", async () => {
    const first = begin();
    await writeFile(join(source.folder, "mod.ts"), files["mod.ts"]);
    expect(await first.collect()).toBeNull();
    await settled();
    const second = begin();
    await writeFile(join(source.folder, "lib/new.ts"), "");
    expect(await second.collect()).toBeNull();
  });
});
