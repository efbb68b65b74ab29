// Usage: install.mjs [--where] [--more] [--clients]
// Installs the agents' own programs, as the lock beside this file pins them, outside the checkout, and prints where;
// with --more also those of the second lot, with --clients the clients of protocols, one folder a line. With --where it
// only prints where they are, and fails when they are not there.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
const lots = [
  { locked: here, command: "npm run agents:install", finish: putBinariesInPlace },
  { locked: join(here, "more"), flag: "--more", command: "npm run agents:install -- --more", finish: () => {} },
  { locked: join(here, "clients"), flag: "--clients", command: "npm run agents:install", finish: () => {} },
];

for (const lot of lots.filter(({ flag }) => flag === undefined || process.argv.includes(flag))) {
  const folder = await folderOf(lot);
  const installed = await isInstalled(folder);
  if (!installed && process.argv.includes("--where")) {
    console.error(`The agents' programs are not in ${folder}: run ${lot.command} first.`);
    process.exit(1);
  }
  if (!installed) await install(folder, lot).catch((error) => fail(error, lot));
  console.log(folder);
}

/** Their folder: one for each lock, so that no old version is ever taken. */
async function folderOf({ locked }) {
  const lock = await readFile(join(locked, "package-lock.json"));
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  // Tests have a home of their own, in which they are not.
  const programs = process.env.BULKHEAD_TEST_AGENTS || join(cache, "bulkhead-test-agents");
  return join(programs, createHash("sha256").update(lock).digest("hex").slice(0, 16));
}

/** Whether a whole installation is there. */
async function isInstalled(folder) {
  return await stat(folder).then((found) => found.isDirectory(), () => false);
}

function fail(error, { command }) {
  const said = String(error.stderr || error.message).trim().split("\n").slice(0, 5).join("\n");
  console.error(
    `Cannot install the agents' programs from the npm registry, so no test ran against them. npm said:\n${said}\n` +
      `Run ${command} again where the registry can be reached.`,
  );
  process.exit(1);
}

/** Installs beside the place and moves it there when it is whole. */
async function install(folder, { locked, finish }) {
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  try {
    for (const name of ["package.json", "package-lock.json"]) await copyFile(join(locked, name), join(draft, name));
    // Not `npm ci`: it refuses a lock without the binaries for other systems, which not every registry has.
    await run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: draft,
      maxBuffer: 16 * 1024 * 1024,
    });
    await finish(draft);
    await rename(draft, folder).catch(async (error) => {
      // Another run was first.
      if (!await isInstalled(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** The two packages whose script puts their binary in place; no other script is run. */
async function putBinariesInPlace(draft) {
  const env = { ...process.env, HOME: draft };
  const modules = join(draft, "node_modules");
  await run(process.execPath, ["install.cjs"], { cwd: join(modules, "@anthropic-ai", "claude-code"), env });
  await run(process.execPath, ["postinstall.mjs"], { cwd: join(modules, "opencode-ai"), env });
}
