import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { BundleSource } from "../../../core/packages/bundler/bundle-order.ts";
import { stopBundler } from "../../../core/packages/bundler/make-bundle.ts";
import { bundlePlugin } from "../../../core/packages/bundler/plugin-script.ts";
import { childrenLeft, ownChildren, until } from "../../sessions/host/test-host.ts";
import { codeManifest, newFolder, writePackage } from "../registry/package-folder.ts";

afterAll(async () => {
  await stopBundler();
  expect(await childrenLeft()).toEqual([]);
});

const small = { "mod.ts": "export default 1 as number;" };

async function source(files: Record<string, string>, limits = {}): Promise<BundleSource> {
  return { folder: await writePackage(files), manifest: codeManifest, limits: { ...defaultLimits, ...limits } };
}

async function bundlers(): Promise<number[]> {
  return (await ownChildren()).filter(({ command }) => command.includes("bundler.js")).map(({ pid }) => pid);
}

/** Overflows the stack of the bundler's program: no bracket is nested. */
const deep = { "mod.ts": `let a = 1;${"if(a)".repeat(2_000_000)};` };

describe("the bundler", () => {
  it("is one process for one plugin after the other, and ends when it is told to", async () => {
    await stopBundler();
    await bundlePlugin(await source(small));
    const [first] = await bundlers();
    await Promise.all([1, 2, 3].map(async () => await bundlePlugin(await source(small))));
    expect(await bundlers()).toContain(first);
    await stopBundler();
    expect(await bundlers()).toEqual([]);
  });

  it("is not started for a script that was kept", async () => {
    const kept = await source(small);
    const cacheDir = await newFolder();
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const made = await bundlePlugin(kept, { cacheDir });
    await stopBundler();
    expect((await bundlePlugin(kept, { cacheDir })).text).toBe(made.text);
    expect(await bundlers()).toEqual([]);
  });

  it("makes one script for instances that start together, and makes it again where one may be larger", async () => {
    const made = await source(small);
    const larger = { ...made, limits: { ...made.limits, script_bytes: made.limits.script_bytes + 1 } };
    const [one, two, three] = await Promise.all([made, { ...made }, larger].map((each) => bundlePlugin(each)));
    expect(two).toBe(one);
    expect(three).not.toBe(one);
    expect(await bundlePlugin(made)).not.toBe(one);
  });

  it("makes the same script for instances whose options ask for different programs", async () => {
    const { entry: _, ...rest } = codeManifest;
    const cli = { binary: "tr", command_template: "{binary} a-z A-Z < {prompt_file}" };
    const texts = await Promise.all(["one", "two"].map(async (binary) => {
      const manifest = { ...rest, cli, permissions: { run: [{ binary }] } };
      return (await bundlePlugin({ ...await source({}), manifest })).text;
    }));
    expect(texts[0]).toBe(texts[1]);
  });

  it("takes a plugin that ends it down with it, and no other", async () => {
    const all = [source(deep), source(small), source(deep), source(small)];
    const ends = await Promise.allSettled(all.map(async (one) => await bundlePlugin(await one)));
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(ends[0]).toMatchObject({
      reason: {
        code: "bundle_failed",
        message: expect.stringMatching(/^Cannot bundle plugin "demo": the bundler (?:crashed|took more than)/),
        details: { plugin_id: "demo", reason: expect.stringMatching(/crash|out_of_memory/) },
      },
    });
    const { details } = (ends[0] as PromiseRejectedResult).reason as { details: { printed: string } };
    expect(details.printed).toMatch(/stack|memory/);
    expect(details.printed.length).toBeLessThan(400);
  }, 60_000);

  it("does not keep a plugin waiting for one that hangs", async () => {
    const hanging = await source({
      "mod.ts": 'import one from "left"; export default one;',
      "package.json": '{"dependencies": {"left": "1"}}',
      "node_modules/left/package.json": '{"exports": "./lib/index.js"}',
      "node_modules/left/lib/index.js": "export default 1;",
    }, { bundle_timeout_ms: 15_000 });
    execFileSync("mkfifo", [join(hanging.folder, "node_modules/left/lib/package.json")]);
    const order: string[] = [];
    const late = bundlePlugin(hanging).catch(() => order.push("late"));
    await bundlePlugin(await source(small)).then(() => order.push("small"));
    await late;
    expect(order).toEqual(["small", "late"]);
  }, 40_000);

  it("has nothing of the host's environment", async () => {
    process.env["BULKHEAD_TEST_SECRET"] = "hidden";
    try {
      await stopBundler();
      await bundlePlugin(await source(small));
      const [pid] = await bundlers();
      const environment = await readFile(`/proc/${pid}/environ`, "latin1");
      expect(environment).toContain("ESBUILD_BINARY_PATH");
      expect(environment).not.toMatch(/hidden|PATH=\/(?!.*esbuild)/);
    } finally {
      delete process.env["BULKHEAD_TEST_SECRET"];
    }
  });

  it("refuses what is over the limits before it is parsed, and names the file", async () => {
    const nested = (depth: number) => ({
      "mod.ts": 'export * from "./a.ts";',
      "a.ts": `\nexport const a = ${"[".repeat(depth)}${"]".repeat(depth)};`,
    });
    expect((await bundlePlugin(await source(nested(1000)))).text).toContain("[[[[");
    await expect(bundlePlugin(await source(nested(1001)))).rejects.toMatchObject({
      code: "too_large",
      message: 'Cannot bundle plugin "demo": a.ts: the brackets in line 2 are nested deeper than 1000.',
      details: { file: "a.ts", limit: 1000, limit_name: "source_depth" },
    });
    await expect(bundlePlugin(await source(nested(10), { source_file_bytes: 21 }))).rejects.toMatchObject({
      code: "too_large",
      details: { file: "mod.ts", limit: 21, limit_name: "source_file_bytes" },
    });
    await expect(bundlePlugin(await source(nested(10), { source_bytes: 40 }))).rejects.toMatchObject({
      code: "too_large",
      details: { file: "a.ts", limit: 40, limit_name: "source_bytes" },
    });
  });
});

const hosts: ReturnType<typeof spawn>[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.kill("SIGKILL")));

describe("a host that is killed", () => {
  it.each(["done", "begun"])("leaves no bundler, when its bundle is %s", async (moment) => {
    const made = await source(small);
    const module = "Deno" in globalThis
      ? new URL("../../../core/packages/bundler/plugin-script.ts", import.meta.url)
      : new URL("../../../dist/core/packages/bundler/plugin-script.js", import.meta.url);
    const program = fileURLToPath(new URL("programs/bundling-host.mjs", import.meta.url));
    const flags = "Deno" in globalThis ? ["run", "-A"] : [];
    const host = spawn(process.execPath, [...flags, program, module.href, JSON.stringify(made)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    hosts.push(host);
    await new Promise<void>((resolve) => {
      host.stdout!.setEncoding("utf8").on("data", (text: string) => text.includes(moment) && resolve());
    });
    await until(async () => (await descendants(host.pid!)).length > 0);
    const left = await descendants(host.pid!);
    const ended = once(host, "exit");
    host.kill("SIGKILL");
    await ended;
    await until(async () => (await Promise.all(left.map(isThere))).every((there) => !there));
  }, 60_000);
});

async function descendants(root: number): Promise<number[]> {
  const rows = (await Promise.all((await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(parentOf))).flat();
  const found = new Set([root]);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
  }
  return [...found].filter((pid) => pid !== root);
}

async function parentOf(pid: string): Promise<{ pid: number; parent: number }[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return stat === "" || state === "Z" ? [] : [{ pid: Number(pid), parent: Number(parent) }];
}

async function isThere(pid: number): Promise<boolean> {
  return (await parentOf(String(pid))).length > 0;
}
