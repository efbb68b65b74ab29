import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import satisfies from "semver/functions/satisfies.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { root } from "./source.ts";

const onDeno = "Deno" in globalThis;

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-build-")));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test(".build/begin.mjs tells what to run where the packages are not installed, and says nothing to a program", () => {
  const begin = () => run(script(".build/begin.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
  expect(begin()).toMatchObject({
    status: 1,
    stdout: "",
    stderr: "Cannot build Bulkhead: its packages are not installed.\nRun: npm ci\n",
  });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  expect(begin()).toMatchObject({ status: 0, stdout: "", stderr: "" });
});

test("npm run build begins with it", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { build: string } };
  expect(scripts.build).toMatch(/^node \.build\/begin\.mjs && /);
});

describe(".build/current.mjs", () => {
  beforeEach(() => {
    write("package-lock.json", "{}");
    for (const name of ["modules", "walls", "console"]) write(`.build/${name}.mjs`, "");
    write(".build/host.mjs", "process.exitCode = 1;");
    write("test/pure.test.ts", 'import { one } from "./one.ts";\n');
    write("test/one.ts", 'import type { Two } from "../core/two.ts";\nexport const one = 1;\n');
    write("test/program.test.ts", 'import {\n  program,\n} from "./program.ts";\n');
    write("test/program.ts", 'export const program = "dist/bundle/cli.js";\n');
  });

  const setUp = (...tests: string[]) => {
    const paths = JSON.stringify(tests.map((name) => join(folder, "test", name)));
    write(
      "set-up.mjs",
      `import setUp from ${JSON.stringify(pathToFileURL(join(root, ".build/current.mjs")).href)};
       await setUp({ vitest: { state: { getPaths: () => ${paths} } }, onTestsRerun() {} });`,
    );
    return run(script(join(folder, "set-up.mjs")), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
  };

  test("an import of the host that is wrong is no matter to a test that uses no bundle", () => {
    expect(setUp("pure.test.ts")).toMatchObject({ status: 0, stderr: "" });
  });

  test("makes the bundles for a test that uses one, also through what it imports", () => {
    const { status, stderr } = setUp("pure.test.ts", "program.test.ts");
    expect(status).toBe(1);
    expect(stderr).toContain('Cannot build "host"');
  });
});

describe(".build/walls.mjs", () => {
  beforeEach(() => {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    write("core/walls/worker/guest.ts", "export function twice(n: number): number { return n * 2; }\n");
    write("core/walls/agent/network-main.ts", "export const opens = 1;\n");
    write("core/packages/bundler/main.ts", "export const bundles = 1;\n");
    write("core/records/gate/main.ts", "export const looks = 1;\n");
    write("core/ground/checks/schema-main.ts", "export const fits = 1;\n");
    write(
      "core/walls/warden/main.ts",
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
    const walls = join(folder, "dist/walls");
    const permission = satisfies(process.versions.node, "<22.13") ? "--experimental-permission" : "--permission";
    const confined = onDeno
      ? ["run", "--no-prompt", "--no-remote", "--no-npm", `--allow-read=${walls}`]
      : [permission, "--allow-worker", `--allow-fs-read=${join(walls, "*")}`];
    const { stdout, stderr } = run([...confined, warden], { HOME: folder, NO_COLOR: "1" });
    expect(stdout.trim(), stderr).toBe("42");
    // Node 20.19.0 to 20.19.4 die where they may not read the nearest one.
    expect(JSON.parse(readFileSync(join(walls, "package.json"), "utf8"))).toEqual({ type: "module" });
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
    write("core/doors/cli/main.ts", "");
    write("dist/core/doors/cli/main.js", "");
    build();
    expect(statSync(join(folder, "dist/core/doors/cli/main.js")).mode & 0o111).toBe(0o111);
    const first = statSync(join(folder, "dist/walls/guest.js"));
    build();
    const second = statSync(join(folder, "dist/walls/guest.js"));
    expect([second.ino, second.mtimeMs]).toEqual([first.ino, first.mtimeMs]);
  });

  test("fails when an entry is missing", () => {
    rmSync(join(folder, "core/walls/worker/guest.ts"));
    const { status, stderr } = run(script(".build/walls.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
    expect(status).not.toBe(0);
    expect(stderr).toContain("core/walls/worker/guest.ts");
  });

  function build(): void {
    const { status, stderr } = run(script(".build/walls.mjs"), { ...process.env, BULKHEAD_BUILD_ROOT: folder });
    expect(status, stderr).toBe(0);
  }
});

describe(".build/host.mjs", () => {
  beforeEach(() => {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    write("core/doors/client/mod.ts", "export const client = 1;\n");
    write("core/kit/conformance/mod.ts", "export const conformance = 1;\n");
    write("core/place.ts", "export const place: string = new URL('../../walls/x.js', import.meta.url).href;\n");
    write("core/mod.ts", 'export { place } from "./place.ts";\nexport { Same } from "../plugin-sdk/mod.ts";\n');
    write(
      "plugin-sdk/mod.ts",
      "export class Same {\n  one() {\n    return 1;\n  }\n  two() {\n    throw new Error();\n  }\n}\n",
    );
    write("plugin-sdk/testing.ts", 'export { Same } from "./mod.ts";\n');
    for (const name of ["run", "demo"]) {
      const commands = `core/doors/cli/commands/${name}.ts`;
      write(
        commands,
        `import { place } from "../../../place.ts";\nexport const ${name} = () => console.log("${name}", place);\n`,
      );
    }
    for (
      const name of [
        "engine/keep-inspector-shut",
        "engine/load-program",
        "engine/kept-code",
        "engine/background-timer",
        "engine/boot-flags",
        "engine/platform",
        "state/state-folders",
      ]
    ) {
      const file = `core/ground/platform/${name}.ts`;
      write(file, readFileSync(join(root, file), "utf8"));
    }
    write(
      "core/doors/cli/start.ts",
      `const commands: Record<string, () => Promise<() => void>> = {
         run: async () => (await import("./commands/run.ts")).run,
         demo: async () => (await import("./commands/demo.ts")).demo,
       };
       export async function start(keepCode = (_reach: string) => {}) {
         (await commands[process.argv[2] ?? ""]?.())?.();
         keepCode("part");
       }`,
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

  test("keeps the lines of what programs import: an engine shows the line at which an error was thrown", () => {
    const lines = readdirSync(join(folder, "dist/bundle"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .flatMap((name) => readFileSync(join(folder, "dist/bundle", name), "utf8").split("\n"));
    expect(lines.map((line) => line.trim())).toEqual(expect.arrayContaining(["one() {", "throw new Error();"]));
  });

  test.each(["run", "demo"])("loads the command %s, whose modules find their neighbours as before", (command) => {
    const cli = join(folder, "dist/bundle/cli.js");
    expect(statSync(cli).mode & 0o111).toBe(0o111);
    const env = { ...process.env, XDG_STATE_HOME: folder };
    for (let time = 0; time < 2; time++) {
      const { stdout, stderr } = run([...script(cli), command], env);
      expect(stdout.trim(), stderr).toBe(`${command} file://${join(folder, "walls/x.js")}`);
    }
  });
});

describe(".ci", () => {
  const green = file("a.test.ts", "passed", "passed", "passed");
  const red = file("b.test.ts", "passed", "failed");
  const unloaded = {
    name: resolve(root, "test/c.test.ts"),
    status: "failed",
    message: "No such module.",
    assertionResults: [],
  };

  test("sums the runs of both runtimes", () => {
    expect(sum("true", { node: [green], deno: [green, green] })).toMatchObject({
      last: "9 passed, 0 failed",
      status: 0,
    });
  });

  test("fails for a failed test, says what it said, and counts a file that could not be loaded", () => {
    const { last, status, stdout } = sum("true", { node: [green, red, unloaded] });
    expect({ last, status }).toEqual({ last: "4 passed, 2 failed", status: 1 });
    expect(stdout).toMatch(/^red: node: .*b\.test\.ts: test 1: It broke\.$/m);
    expect(stdout).toMatch(/^red: node: .*c\.test\.ts: No such module\.$/m);
  });

  test("fails for a run without tests, a skipped test without a reason, a red step and a missing report", () => {
    expect(sum("true", { node: [green], deno: [] }).status).toBe(1);
    expect(sum("true", { node: [file("a.test.ts", "passed", "skipped")] }).status).toBe(1);
    expect(sum("false", { node: [green] })).toMatchObject({ last: "3 passed, 0 failed", status: 1 });
    expect(sum("true", { node: [green], deno: null })).toMatchObject({ last: "3 passed, 0 failed", status: 1 });
  });

  test("a file that was run once more counts as it ended, and what was red before is named as unsteady", () => {
    const whole = file("b.test.ts", "passed", "passed");
    const steady = sum("true", { node: [green, red], "node.again": [whole] });
    expect(steady).toMatchObject({ last: "5 passed, 0 failed", status: 0 });
    expect(steady.stdout).toMatch(/^unsteady: node: .*b\.test\.ts: test 1: It broke\.$/m);
    expect(sum("true", { node: [green, red], "node.again": [red] })).toMatchObject({
      last: "4 passed, 1 failed",
      status: 1,
    });
    expect(sum("true", { node: [green, red, unloaded], "node.again": [whole] })).toMatchObject({
      last: "5 passed, 1 failed",
      status: 1,
    });
  });

  test("names the red files to run once more, unless they are too many for chance", () => {
    expect(redFiles([green, red, unloaded])).toEqual({ status: 0, names: ["b.test.ts", "c.test.ts"] });
    expect(redFiles([green])).toEqual({ status: 1, names: [] });
    expect(redFiles(null)).toEqual({ status: 1, names: [] });
    expect(redFiles(Array.from({ length: 6 }, (_, at) => file(`${at}.test.ts`, "failed")))).toEqual({
      status: 1,
      names: [],
    });
  });

  test("names an error that no test caught with its file, which is run once more too", () => {
    expect(redFiles([green], uncaught("test/d.test.ts"))).toEqual({ status: 0, names: ["d.test.ts"] });
    expect(redFiles([green], uncaught(null))).toEqual({ status: 1, names: [] });
    const first = sum("false", { node: [green] }, uncaught("test/d.test.ts"));
    expect(first.stdout).toContain("red: node: test/d.test.ts: no test caught: Error: Nobody waits. at here\n");
    const again = sum(
      "true",
      { node: [green], "node.again": [file("d.test.ts", "passed")] },
      uncaught("test/d.test.ts"),
    );
    expect(again.stdout).toContain("unsteady: node: test/d.test.ts: no test caught: Error: Nobody waits. at here\n");
    expect(again.status).toBe(0);
  });

  /** What vitest prints of such an error. */
  function uncaught(origin: string | null): string {
    const from =
      `This error originated in "\u001b[1m${origin}\u001b[22m" test file. It doesn't mean it was thrown there.`;
    return [
      "\u001b[31m⎯⎯⎯\u001b[39m\u001b[1m Unhandled Errors \u001b[22m⎯⎯⎯",
      "Vitest caught 1 unhandled error during the test run.",
      "",
      "\u001b[31m⎯⎯⎯\u001b[39m\u001b[1m Unhandled Rejection \u001b[22m⎯⎯⎯",
      "\u001b[31m\u001b[1mError\u001b[22m: Nobody waits.\u001b[39m",
      " at here",
      "",
      ...(origin === null ? [] : [from]),
      " Test Files  1 passed (1)",
    ].join("\n");
  }

  function file(name: string, ...statuses: string[]) {
    return {
      name: resolve(root, "test", name),
      status: statuses.includes("failed") ? "failed" : "passed",
      message: "",
      assertionResults: statuses.map((status, index) => ({
        status,
        fullName: `test ${index}`,
        failureMessages: status === "failed" ? ["It\n broke."] : [],
      })),
    };
  }

  function write(reports: Readonly<Record<string, unknown[] | null>>, log = ""): string {
    const at = mkdtempSync(join(folder, "reports-"));
    writeFileSync(join(at, "node.log"), log);
    for (const [name, testResults] of Object.entries(reports)) {
      if (testResults !== null) writeFileSync(join(at, `${name}.json`), JSON.stringify({ testResults }));
    }
    return at;
  }

  function sum(steps: "true" | "false", reports: Readonly<Record<string, unknown[] | null>>, log?: string) {
    const suites = Object.keys(reports).filter((name) => !name.endsWith(".again"));
    const { status, stdout } = run([...script(".ci/sum.mjs"), steps, write(reports, log), ...suites], process.env);
    return { last: stdout.trim().split("\n").at(-1), status, stdout };
  }

  function redFiles(testResults: unknown[] | null, log?: string): { status: number | null; names: string[] } {
    const at = write({ node: testResults }, log);
    const args = [...script(".ci/red-files.mjs"), join(at, "node.json"), join(at, "node.log")];
    const { status, stdout } = run(args, process.env);
    return { status, names: stdout.trim().split(" ").filter((path) => path !== "").map((path) => basename(path)) };
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
