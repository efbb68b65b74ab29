// Keeps what tests use of the build as new as the source, so that a test never tries an old one.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { listFiles, root, unlessMissing } from "./outputs.mjs";

const onDeno = "Deno" in globalThis;
/** What almost every test uses. On Deno the host runs from its source, and only what stands behind the walls is built. */
const ground = {
  name: "ground",
  scripts: onDeno ? ["walls", "console"] : ["modules", "walls", "console"],
  outputs: [
    ...(onDeno ? [] : ["plugin-sdk/mod.js"]),
    "walls/warden.js",
    "walls/package.json",
    "walls/network.js",
    "walls/gate.js",
    "walls/schema.js",
    "console/app.js",
  ],
};
/** The bundles that users get. They cannot be made while any import of the host is wrong. */
const host = { name: "host", scripts: ["host"], outputs: ["bundle/cli.js"] };
const stamps = join(root, "node_modules/.cache/bulkhead-build");

/** Set-up of a run of vitest, and of each that watching adds. */
export default async function setUp(project) {
  const { vitest } = project;
  await buildIfStale(vitest.state.getPaths());
  project.onTestsRerun((tests) => buildIfStale(tests.map(({ moduleId }) => moduleId)));
}

/** Builds what these tests need, but the declarations, if any source was changed since it was last built here. */
async function buildIfStale(tests) {
  const now = await stateOfSources();
  // In this mode every test imports the package itself.
  const isBuilt = process.argv[process.argv.indexOf("--mode") + 1] === "built";
  const needed = !onDeno && (isBuilt || await someUseBundle(tests)) ? [ground, host] : [ground];
  await Promise.all(needed.map((part) => buildPart(part, now)));
}

async function buildPart({ name, scripts, outputs }, now) {
  const stamp = join(stamps, `${onDeno ? "deno" : "node"}-${name}`);
  const there = await Promise.all(outputs.map((file) => stat(join(root, "dist", file)).catch(unlessMissing)));
  if (there.every(Boolean) && await readFile(stamp, "utf8").catch(unlessMissing) === now) return;
  await Promise.all(scripts.map(run));
  await mkdir(stamps, { recursive: true });
  await writeFile(stamp, now);
}

/** Whether a test, or what it imports of the tests, names a bundle or the package. */
async function someUseBundle(tests) {
  const seen = new Set();
  const uses = async (path) => {
    if (seen.has(path) || !path.startsWith(join(root, "test/"))) return false;
    seen.add(path);
    const text = await readFile(path, "utf8");
    if (/dist\/bundle|node_modules\/bulkhead/.test(text)) return true;
    for (const [, specifier] of text.matchAll(/^(?:import|\}) .*?"(\.[^"]+)";$/gm)) {
      if (await uses(join(dirname(path), specifier))) return true;
    }
    return false;
  };
  for (const path of tests) if (await uses(path)) return true;
  return false;
}

/** One line for the names, sizes and times of all sources, and of the libraries. */
async function stateOfSources() {
  const folders = await Promise.all(["core", "plugin-sdk", ".build"].map((name) => listFiles(join(root, name))));
  const files = [...folders.flat(), join(root, "package-lock.json")].sort();
  const states = await Promise.all(files.map(async (file) => {
    const { size, mtimeMs } = await stat(file);
    return `${file} ${size} ${mtimeMs}`;
  }));
  return createHash("sha256").update(states.join("\n")).digest("hex");
}

async function run(name) {
  const args = [...(onDeno ? ["run", "-A"] : []), join(root, ".build", `${name}.mjs`)];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise((settle, fail) => child.once("error", fail).once("close", settle));
  if (code !== 0) throw new Error(`Cannot build "${name}": its script ended with ${code}. Read what it printed above.`);
}
