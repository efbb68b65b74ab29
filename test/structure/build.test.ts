import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { root } from "./source.ts";

const onDeno = "Deno" in globalThis;

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-build-")));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe(".build/walls.mjs", () => {
  beforeEach(() => {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    write("core/worker/guest.ts", "export function twice(n: number): number { return n * 2; }\n");
    write(
      "core/warden/main.ts",
      `import { Tinypool } from "tinypool";
       const filename = new URL("./guest.js", import.meta.url).href;
       const pool = new Tinypool({ filename, name: "twice", minThreads: 1, maxThreads: 1, useAtomics: false });
       console.log(await pool.run(21));
       await pool.destroy();`,
    );
  });

  test("bundles a warden that starts threads while it may read nothing but the bundles", () => {
    build();
    const warden = join(folder, "dist/walls/warden.js");
    const confined = ["run", "--no-prompt", "--no-remote", "--no-npm", `--allow-read=${join(folder, "dist/walls")}`];
    const { stdout, stderr } = run([...(onDeno ? confined : []), warden], { HOME: folder, NO_COLOR: "1" });
    expect(stdout.trim(), stderr).toBe("42");
  });

  test("removes what has no source any more and leaves the rest", () => {
    write("core/kept.ts", "");
    for (const name of ["kept.js", "kept.d.ts", "kept.js.map", "gone.js", "gone.d.ts", "gone.js.map"]) {
      write(`dist/core/${name}`, "");
    }
    write("dist/walls/gone.js", "");
    build();
    const there = (name: string) => existsSync(join(folder, "dist", name));
    expect(["kept.js", "kept.d.ts", "kept.js.map"].map((name) => there(`core/${name}`))).toEqual([true, true, true]);
    expect(["gone.js", "gone.d.ts", "gone.js.map"].map((name) => there(`core/${name}`))).toEqual([false, false, false]);
    expect(there("walls/gone.js")).toBe(false);
  });

  test("makes the command line executable and does not rewrite a bundle that is the same", () => {
    write("core/cli/main.ts", "");
    write("dist/core/cli/main.js", "");
    build();
    expect(statSync(join(folder, "dist/core/cli/main.js")).mode & 0o111).toBe(0o111);
    const first = statSync(join(folder, "dist/walls/guest.js"));
    build();
    const second = statSync(join(folder, "dist/walls/guest.js"));
    expect([second.ino, second.mtimeMs]).toEqual([first.ino, first.mtimeMs]);
  });

  test("fails when an entry is missing", () => {
    rmSync(join(folder, "core/worker/guest.ts"));
    const { status, stderr } = run(script(".build/walls.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
    expect(status).not.toBe(0);
    expect(stderr).toContain("core/worker/guest.ts");
  });

  function build(): void {
    const { status, stderr } = run(script(".build/walls.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
    expect(status, stderr).toBe(0);
  }
});

describe(".build/host.mjs", () => {
  beforeEach(() => {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    write("core/client/mod.ts", "export const client = 1;\n");
    write("core/conformance/mod.ts", "export const conformance = 1;\n");
    write("core/place.ts", "export const place: string = new URL('../../walls/x.js', import.meta.url).href;\n");
    write("core/mod.ts", 'export { place } from "./place.ts";\nexport { Same } from "../plugin-sdk/mod.ts";\n');
    write("plugin-sdk/mod.ts", "export class Same {}\n");
    write("plugin-sdk/testing.ts", 'export { Same } from "./mod.ts";\n');
    for (const name of ["run", "demo"]) {
      const commands = `core/cli/commands/${name}.ts`;
      write(
        commands,
        `import { place } from "../../place.ts";\nexport const ${name} = () => console.log("${name}", place);\n`,
      );
    }
    write(
      "core/cli/main.ts",
      `#!/usr/bin/env node
       const commands: Record<string, () => Promise<() => void>> = {
         run: async () => (await import("./commands/run.ts")).run,
         demo: async () => (await import("./commands/demo.ts")).demo,
       };
       (await commands[process.argv[2] ?? ""]?.())?.();`,
    );
    write("dist/bundle/gone.js", "");
    const { status, stderr } = run(script(".build/host.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
    expect(status, stderr).toBe(0);
  });

  test("makes one class of what two entries share, and leaves nothing of an older build", () => {
    write(
      "try.mjs",
      `import { place, Same } from "./dist/bundle/mod.js";
       import * as sdk from "./dist/bundle/plugin-sdk.js";
       import * as testing from "./dist/bundle/testing.js";
       console.log(Same === sdk.Same && Same === testing.Same, new URL(place).pathname);`,
    );
    const { stdout, stderr } = run(script(join(folder, "try.mjs")), process.env);
    expect(stdout.trim(), stderr).toBe(`true ${join(folder, "walls/x.js")}`);
    expect(existsSync(join(folder, "dist/bundle/gone.js"))).toBe(false);
  });

  test.each(["run", "demo"])("loads the command %s, whose modules find their neighbours as before", (command) => {
    const cli = join(folder, "dist/bundle/cli.js");
    expect(statSync(cli).mode & 0o111).toBe(0o111);
    const { stdout, stderr } = run([...script(cli), command], process.env);
    expect(stdout.trim(), stderr).toBe(`${command} file://${join(folder, "walls/x.js")}`);
  });
});

describe(".ci/sum.mjs", () => {
  const green = {
    success: true,
    numPassedTests: 3,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults: [],
  };

  test("sums the runs of both runtimes", () => {
    expect(sum("true", green, { ...green, numPassedTests: 4 })).toEqual({ last: "7 passed, 0 failed", status: 0 });
  });

  test("fails for a failed test, and counts a file that could not be loaded", () => {
    const broken = { status: "failed", assertionResults: [] };
    const red = { ...green, success: false, numFailedTests: 1, testResults: [broken] };
    expect(sum("true", green, red)).toEqual({ last: "6 passed, 2 failed", status: 1 });
  });

  test("fails for a run without tests, a skipped test, a red step and a missing report", () => {
    expect(sum("true", green, { ...green, numPassedTests: 0 }).status).toBe(1);
    expect(sum("true", { ...green, numPendingTests: 1 }).status).toBe(1);
    expect(sum("true", { ...green, success: false }).status).toBe(1);
    expect(sum("false", green)).toEqual({ last: "3 passed, 0 failed", status: 1 });
    expect(sum("true", green, null)).toEqual({ last: "3 passed, 0 failed", status: 1 });
  });

  function sum(steps: "true" | "false", ...reports: unknown[]): { last: string | undefined; status: number | null } {
    const paths = reports.map((report, index) => {
      const path = join(folder, `${index}.json`);
      if (report !== null) writeFileSync(path, JSON.stringify(report));
      return path;
    });
    const { status, stdout } = run([...script(".ci/sum.mjs"), steps, ...paths], process.env);
    return { last: stdout.trim().split("\n").at(-1), status };
  }
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function script(path: string): string[] {
  return [...(onDeno ? ["run", "-A"] : []), resolve(root, path)];
}

function run(args: string[], env: NodeJS.ProcessEnv): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env,
    timeout: 30_000,
  });
  if (error) throw error;
  return { status, stdout, stderr };
}
