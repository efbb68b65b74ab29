import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packPlugin } from "../../../core/kit/author/pack-plugin.ts";
import { newPlugin } from "../../../core/kit/author/new-plugin.ts";
import { templateNames } from "../../../core/kit/author/templates.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);
const denoArgs = ["run", "-A", "--no-prompt", "--node-modules-dir=manual"];
/** This runtime, and Deno beside it, which the project brings along. */
const runtimes: [name: string, file: string, args: string[]][] = [
  ...("Deno" in globalThis ? [] : [["node", process.execPath, []] as [string, string, string[]]]),
  ["deno", join(root, "node_modules/.bin/deno"), denoArgs],
];

let folder: string;
const cli = "node_modules/bulkhead/dist/bundle/cli.js";

/** As npm leaves it: this package built, packed and unpacked, and what it depends on beside it. Nothing is downloaded. */
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-installed-")));
  const env = { ...process.env, npm_config_cache: join(folder, "npm"), npm_config_update_notifier: "false" };
  const packed = await run("npm", ["pack", "--json", "--pack-destination", folder, root], {
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
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a command of the installed package. */
async function bulkhead([, file, args]: (typeof runtimes)[number], words: string[], home = folder): Promise<string> {
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state"), NO_COLOR: "1" };
  const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
  // What it printed says more than that it failed.
  return await run(file, [...args, cli, ...words], options).then(({ stdout }) => stdout, (error) => {
    throw new Error(`${words.join(" ")}: ${error.stdout}${error.stderr}`);
  });
}

describe("the host's own package, installed in an empty folder", () => {
  describe.each(runtimes)("on %s", (...runtime) => {
    test("passes the demo", async () => {
      const last = (await bulkhead(runtime, ["demo", "--json"], join(folder, "demo", runtime[0]))).trim().split("\n")
        .at(-1);
      expect(JSON.parse(last ?? "")).toMatchObject({ demo: { passed: true } });
    }, 240_000);

    test("writes a plugin that keeps the contract without an install", async () => {
      const home = join(folder, "new", runtime[0]);
      await bulkhead(runtime, ["plugin", "new", `Made on ${runtime[0]}`, "--yes"], home);
      const report = JSON.parse(await bulkhead(runtime, ["plugin", "test", `made-on-${runtime[0]}`, "--json"], home));
      expect(report).toMatchObject({ plugin_id: `made-on-${runtime[0]}`, passed: true, isolation: "process" });
      expect(report.runtime).toContain(runtime[0]);
    }, 240_000);
  });

  test.each(["code", "cli"] as const)(
    "one packed plugin of template %s passes the kit on both runtimes",
    async (kind) => {
      const plugin = join(folder, "authors", `packed-${kind}`);
      await newPlugin({ folder: plugin, template: kind, name: `Packed ${kind}` });
      const { fileName, tarball, sha256 } = await packPlugin(plugin);
      await Promise.all(runtimes.map(async (runtime) => {
        const to = join(folder, "unpacked", `${kind}-on-${runtime[0]}`);
        await mkdir(to, { recursive: true });
        await writeFile(join(to, fileName), tarball);
        expect(createHash("sha256").update(await readFile(join(to, fileName))).digest("hex")).toBe(sha256);
        await run("tar", ["xzf", fileName], { cwd: to });
        const report = JSON.parse(await bulkhead(runtime, ["plugin", "test", join(to, "package"), "--json"]));
        expect(report, runtime[0]).toMatchObject({ plugin_id: `packed-${kind}`, passed: true });
        expect(report.runtime).toContain(runtime[0]);
      }));
    },
    240_000,
  );

  test.each(templateNames)("a plugin of template %s is packed to the same bytes on both runtimes", async (template) => {
    const plugin = join(folder, "packers", template);
    await newPlugin({ folder: plugin, template, name: `Same ${template}` });
    const here = await packPlugin(plugin);
    await Promise.all(runtimes.map(async (runtime) => {
      const out = join(folder, "same", `${template}-on-${runtime[0]}`);
      const { file, sha256 } = JSON.parse(await bulkhead(runtime, ["plugin", "pack", plugin, "--out", out, "--json"]));
      expect(sha256, runtime[0]).toBe(here.sha256);
      expect(createHash("sha256").update(await readFile(file)).digest("hex")).toBe(here.sha256);
    }));
  }, 240_000);

  test("what a template writes passes its own type check and its own tests", async () => {
    const cwd = join(folder, "written");
    for (const template of templateNames) {
      await newPlugin({ folder: join(cwd, template), template, name: `Mine ${template}` });
    }
    const own = join(root, "node_modules");
    const env = { PATH: process.env["PATH"], HOME: folder, NO_COLOR: "1" };
    // One run for all of them: their settings are the same.
    await copyFile(join(cwd, "code/tsconfig.json"), join(cwd, "tsconfig.json"));
    await run("node", [join(own, "typescript/bin/tsc"), "-p", "."], { cwd, env });
    const { stdout } = await run("node", [join(own, "vitest/vitest.mjs"), "run", "adapter.test"], { cwd, env });
    expect(stdout).toMatch(/Tests +2 passed/);
  }, 240_000);
});
