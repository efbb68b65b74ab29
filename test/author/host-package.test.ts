import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packPlugin } from "../../core/author/pack-plugin.ts";
import { newPlugin } from "../../core/author/new-plugin.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const denoArgs = ["run", "-A", "--no-prompt", "--node-modules-dir=manual"];
/** This runtime, and Deno beside it, which the project brings along. */
const runtimes: [name: string, file: string, args: string[]][] = [
  ...("Deno" in globalThis ? [] : [["node", process.execPath, []] as [string, string, string[]]]),
  ["deno", join(root, "node_modules/.bin/deno"), denoArgs],
];

let folder: string;
const cli = "node_modules/bulkhead/dist/bundle/cli.js";

/** As npm leaves it: this package unpacked, and what it depends on beside it. Nothing is downloaded. */
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-installed-")));
  const env = { ...process.env, npm_config_cache: join(folder, "npm"), npm_config_update_notifier: "false" };
  const packed = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder, root], {
    cwd: folder,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  await run("tar", ["xzf", filename], { cwd: folder });
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  await rename(join(folder, "package"), join(modules, "bulkhead"));
  for (const name of await readdir(join(root, "node_modules"))) {
    if (name !== "bulkhead") await symlink(join(root, "node_modules", name), join(modules, name));
  }
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(runtimes)("the host's own package, installed in an empty folder, on %s", (runtime, file, args) => {
  const bulkhead = async (...words: string[]) => {
    const env = { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state"), NO_COLOR: "1" };
    const { stdout } = await run(file, [...args, cli, ...words], { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  };

  test("passes the demo", async () => {
    const last = (await bulkhead("demo", "--json")).trim().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ demo: { passed: true } });
  }, 120_000);

  test("writes a plugin that keeps the contract without an install", async () => {
    await bulkhead("plugin", "new", `Made on ${runtime}`, "--yes");
    const report = JSON.parse(await bulkhead("plugin", "test", `made-on-${runtime}`, "--json"));
    expect(report).toMatchObject({ plugin_id: `made-on-${runtime}`, passed: true });
    expect(report.runtime).toContain(runtime);
  }, 120_000);
});

test.each(["code", "cli"] as const)(
  "one packed plugin of template %s passes the kit on both runtimes",
  async (kind) => {
    const plugin = join(folder, "authors", kind);
    await newPlugin({ folder: plugin, template: kind, name: `Packed ${kind}` });
    const { fileName, tarball } = await packPlugin(plugin);
    const to = join(folder, "unpacked", kind);
    await mkdir(to, { recursive: true });
    await writeFile(join(to, fileName), tarball);
    await run("tar", ["xzf", fileName], { cwd: to });
    for (const [name, file, args] of runtimes) {
      const { stdout } = await run(file, [...args, cli, "plugin", "test", join(to, "package"), "--json"], {
        cwd: folder,
      });
      expect(JSON.parse(stdout), name).toMatchObject({ plugin_id: `packed-${kind}`, passed: true });
    }
  },
  120_000,
);
