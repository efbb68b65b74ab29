import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packPlugin } from "../../../core/kit/author/pack-plugin.ts";
import { sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import { needsProgram } from "../../needs-program.ts";
import { errorOf, openHost } from "../../sessions/host/test-host.ts";

const plugins = fileURLToPath(new URL("../../../plugins/", import.meta.url));
const denoProgram = fileURLToPath(new URL("../../../node_modules/.bin/deno", import.meta.url));
const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-pack-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("packPlugin", () => {
  test("gives the same bytes for the same files in another folder at another time", async () => {
    for (const id of ["codex", "repo-census"]) {
      const copies = [join(folder, "a", id), join(folder, "b", "deeper", id)];
      for (const [index, copy] of copies.entries()) {
        await cp(join(plugins, id), copy, { recursive: true });
        for (const name of ["plugin.yaml", "README.md"]) await utimes(join(copy, name), 1e9 + index, 1e9 + index);
      }
      const [first, second] = await Promise.all(copies.map((copy) => packPlugin(copy)));
      expect(first!.sha256).toBe(second!.sha256);
      expect(sha256Hex(first!.tarball)).toBe(first!.sha256);
    }
  });

  test("makes an ordinary npm package: one script, manifest, schema, and the hash of each file", async () => {
    const packed = await packPlugin(join(plugins, "codex"));
    expect(packed.fileName).toBe("bulkhead-plugin-codex-1.0.0.tgz");
    const unpacked = await extract(packed);
    expect(packed.files.map(({ path }) => path)).toEqual([
      "README.md",
      "conformance.yaml",
      "jsr.json",
      "package.json",
      "plugin.js",
      "plugin.schema.json",
      "plugin.yaml",
      "recordings/greeting.jsonl",
      "recordings/opened.jsonl",
      "recordings/tool.jsonl",
      "integrity.json",
    ]);
    const read = (name: string) => readFile(join(unpacked, name), "utf8");
    const own = JSON.parse(await read("package.json"));
    expect(own).toMatchObject({ name: "@bulkhead/plugin-codex", version: "1.0.0", keywords: ["bulkhead-plugin"] });
    expect(Object.keys(own)).not.toContain("scripts");
    const yaml = await read("plugin.yaml");
    expect(yaml).toMatch(/^# yaml-language-server: \$schema=\.\/plugin\.schema\.json\n/);
    expect(yaml).toContain("\nentry: ./plugin.js\n");
    // Comments and all the rest stay as the author wrote them.
    expect(yaml).toContain("# what the CLI's own model catalogue gives its present models");
    expect(await read("plugin.js")).not.toMatch(/^import /m);
    const { files } = JSON.parse(await read("integrity.json")) as { files: Record<string, string> };
    for (const [path, hash] of Object.entries(files)) {
      expect(sha256Hex(await readFile(join(unpacked, path)))).toBe(hash);
    }
    expect(Object.keys(files)).toHaveLength(packed.files.length - 1);
  });

  test("packs what a plugin without code lists, and its package loads behind the walls like its folder", async () => {
    const { host, workdir } = await openHost();
    for (const id of ["repo-census", "replay"]) {
      const unpacked = await extract(await packPlugin(join(plugins, id)));
      await host.registry.register(unpacked, {
        grant: id === "replay" ? { read: ["plugin"], write: ["workdir"] } : {},
      });
      await host.load(id);
    }
    const session = await host.runSession({ workdir, prompt: "go", params: { speed: 0 } }, { adapter: "replay" });
    expect((await session.result()).stop_reason).toBe("end_turn");
  });

  test("refuses what leads out of the folder, versions that differ, and code it cannot join", async () => {
    const plugin = join(folder, "mine");
    const write = async (files: Record<string, string>) => {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(plugin, name)), { recursive: true });
        await writeFile(join(plugin, name), text);
      }
    };
    const pack = (changes: object) => ({
      "package.json": JSON.stringify({ name: "mine", version: "1.0.0", ...changes }),
    });
    await write({
      "plugin.yaml": `manifest: 1\nid: mine\nname: Mine\nversion: 1.0.0\ndescription: Mine.\nlicense: MIT\nhost: ^1.0.0
adapter_type: tool\nentry: "./mod.js" # here\ncapabilities: {}\n`,
      "mod.js": `import { defineAdapter } from "bulkhead/plugin-sdk";\nexport default defineAdapter({});\n`,
      ...pack({ files: ["../secret.txt"] }),
    });
    await writeFile(join(folder, "secret.txt"), "secret");
    expect(await errorOf(packPlugin(plugin))).toMatchObject({ code: "invalid_manifest" });
    await symlink(join(folder, "secret.txt"), join(plugin, "inside.txt"));
    await write(pack({ files: ["inside.txt"] }));
    expect((await errorOf(packPlugin(plugin))).message).toContain("leads out of the plugin's folder");
    await write(pack({ version: "1.0.1" }));
    expect((await errorOf(packPlugin(plugin))).message).toContain("expected 1.0.0 as in plugin.yaml, found 1.0.1");
    await write({ ...pack({}), "mod.js": `import "node:fs";\n` });
    expect(await errorOf(packPlugin(plugin))).toMatchObject({ code: "bundle_failed" });
    await write({ "mod.js": `export default 1;\n` });
    const { files } = await packPlugin(plugin);
    const yaml = files.find(({ path }) => path === "plugin.yaml");
    expect(new TextDecoder().decode(yaml?.bytes)).toContain("entry: ./plugin.js # here\n");
    // Without a scope there is no place for it on JSR.
    expect(files.map(({ path }) => path)).not.toContain("jsr.json");
    expect((await packPlugin(plugin)).notForJsr).toContain('Set "name" in package.json to @<your scope>/');
    await write(pack({ name: "@me/mine" }));
    expect((await packPlugin(plugin)).notForJsr).toBeNull();
  });

  test("leaves out what is never for others, and names files of secrets", async () => {
    const plugin = join(folder, "mine");
    await cp(join(plugins, "codex"), plugin, { recursive: true });
    const given = JSON.parse(await readFile(join(plugin, "package.json"), "utf8")) as object;
    const list = (...files: string[]) => writeFile(join(plugin, "package.json"), JSON.stringify({ ...given, files }));
    const hidden = [".git/config", "node_modules/a/index.js", ".npmrc", "lib/.npmrc", "lib/.git", ".hg/hgrc"];
    const secrets = [".env", ".env.production", "lib/.env"];
    const others = [".env.example", "lib/env.json", "plugin.js"];
    for (const path of [...hidden, ...secrets, ...others]) {
      await mkdir(dirname(join(plugin, path)), { recursive: true });
      await writeFile(join(plugin, path), "old");
    }
    for (const all of [".", "./"]) {
      await list(all);
      const { files, leftOut } = await packPlugin(plugin);
      const paths = files.map(({ path }) => path);
      expect(leftOut).toEqual(secrets);
      for (const path of [...hidden, ...secrets]) expect(paths).not.toContain(path);
      for (const path of others) expect(paths).toContain(path);
      expect(new Set(paths).size).toBe(paths.length);
      expect(new TextDecoder().decode(files.find(({ path }) => path === "plugin.js")?.bytes)).not.toBe("old");
    }
    for (const name of [".env", "./.env.production"]) {
      await list(name);
      expect(await errorOf(packPlugin(plugin))).toMatchObject({
        code: "invalid_manifest",
        message: expect.stringContaining("holds secrets"),
      });
    }
    await list("lib");
    await run("mkfifo", [join(plugin, "lib/pipe")]);
    expect((await errorOf(packPlugin(plugin))).message).toBe('Cannot pack "lib/pipe": it is no file.');
  });

  test("what it makes passes the dry runs of npm publish and deno publish, without a network", async (context) => {
    needsProgram(context, "npm");
    const packed = await packPlugin(join(plugins, "codex"));
    const unpacked = await extract(packed);
    const env = {
      ...process.env,
      npm_config_registry: "http://127.0.0.1:9/",
      npm_config_fetch_retries: "0",
      npm_config_cache: join(folder, "npm"),
    };
    const options = { cwd: folder, env };
    const { stdout, stderr } = await run("npm", ["publish", "--dry-run", `./${packed.fileName}`], options);
    expect(`${stdout}${stderr}`).toContain("@bulkhead/plugin-codex@1.0.0");
    const jsr = await run(denoProgram, ["publish", "--dry-run", "--allow-dirty", "--no-check"], { cwd: unpacked });
    expect(jsr.stderr).toContain("Dry run complete");
  }, 60_000);
});

/** Writes a tarball and takes it apart with the system's own program; gives the folder of the package. */
async function extract({ fileName, tarball }: { fileName: string; tarball: Uint8Array }): Promise<string> {
  const to = join(folder, `unpacked-${fileName}`);
  await mkdir(to);
  await writeFile(join(folder, fileName), tarball);
  await run("tar", ["xzf", join(folder, fileName), "-C", to]);
  return join(to, "package");
}
