// Bundles what runs behind the walls: a warden on Deno may read its own files and nothing else, so it cannot resolve
// a package by name, and one file loads faster than fifty. Runs on Node and on Deno.
import { Buffer } from "node:buffer";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = process.env.BULKHEAD_BUILD_ROOT ?? fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

await buildWalls();
await removeStale("core");
await removeStale("plugin-sdk");
await chmod(join(dist, "core/cli/main.js"), 0o755).catch(unlessMissing);

async function buildWalls() {
  const wanted = new Map();
  const result = await build({
    absWorkingDir: root,
    entryPoints: {
      "warden": "core/warden/main.ts",
      "guest": "core/worker/guest.ts",
      // The bundled tinypool starts its threads from `entry/worker.js` beside the file it stands in.
      "entry/worker": "node_modules/tinypool/dist/entry/worker.js",
    },
    outdir: join(dist, "walls"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    legalComments: "eof",
    // A warden may not read the environment, and tinypool reads this on loading; "1" is what the host asks for anyway.
    define: { "process.env.PISCINA_DISABLE_ATOMICS": '"1"' },
    logLevel: "warning",
    write: false,
  });
  for (const file of result.outputFiles) wanted.set(file.path, file.contents);
  for (const [path, contents] of wanted) await writeIfChanged(path, contents);
  for (const path of await listFiles(join(dist, "walls"))) {
    if (!wanted.has(path)) await rm(path);
  }
}

/** Replaces a file in one step, so that a worker that starts meanwhile reads the old or the new one, whole. */
async function writeIfChanged(path, contents) {
  const old = await readFile(path).catch(unlessMissing);
  if (old !== undefined && Buffer.compare(old, contents) === 0) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.${process.pid}.tmp`, contents);
  await rename(`${path}.${process.pid}.tmp`, path);
}

/** Removes what tsc wrote for a source file that is gone: it would still be found by an import or by `npm pack`. */
async function removeStale(folder) {
  const sources = new Set((await listFiles(join(root, folder))).map((path) => relative(root, path)));
  for (const path of await listFiles(join(dist, folder))) {
    const source = relative(dist, path).replace(/(\.d\.ts|\.js\.map|\.js)$/, ".ts");
    if (!sources.has(source)) await rm(path);
  }
}

async function listFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(unlessMissing) ?? [];
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function unlessMissing(error) {
  if (error.code !== "ENOENT") throw error;
}
