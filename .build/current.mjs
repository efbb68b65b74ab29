// Keeps what tests use of the build as new as the source, so that a test never tries an old one.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { listFiles, root, unlessMissing } from "./outputs.mjs";

const onDeno = "Deno" in globalThis;
// On Deno the host runs from its source, and only what stands behind the walls is built.
const scripts = onDeno ? ["walls", "console"] : ["modules", "walls", "host", "console"];
const outputs = onDeno
  ? ["walls/warden.js", "walls/package.json", "walls/network.js", "walls/gate.js", "console/app.js"]
  : [
    "plugin-sdk/mod.js",
    "walls/warden.js",
    "walls/package.json",
    "walls/network.js",
    "walls/gate.js",
    "bundle/cli.js",
    "console/app.js",
  ];
const stamp = join(root, "node_modules/.cache/bulkhead-build", onDeno ? "deno" : "node");

/** Set-up of a run of vitest, and of each that watching adds. */
export default async function setUp(project) {
  await buildIfStale();
  project.onTestsRerun(buildIfStale);
}

/** Builds all but the declarations if any source was changed since it was last built here. */
async function buildIfStale() {
  const now = await stateOfSources();
  const there = await Promise.all(outputs.map((name) => stat(join(root, "dist", name)).catch(unlessMissing)));
  if (there.every(Boolean) && await readFile(stamp, "utf8").catch(unlessMissing) === now) return;
  await Promise.all(scripts.map(run));
  await mkdir(dirname(stamp), { recursive: true });
  await writeFile(stamp, now);
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
