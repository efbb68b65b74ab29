// Bundles what runs behind the walls: a warden on Deno may read its own files and nothing else, so it cannot resolve
// a package by name, and one file loads faster than fifty. Runs on Node and on Deno.
import { Buffer } from "node:buffer";
import { chmod, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { listFiles, root, unlessMissing, writeFolder } from "./outputs.mjs";

const dist = join(root, "dist");

// Node asks the nearest package.json whether a file is a module. Before 20.19.5 it dies where a warden may not read that.
const ownPackage = { path: join(dist, "walls/package.json"), contents: Buffer.from('{"type":"module"}\n') };

await buildWalls();
await removeStale("core");
await removeStale("plugin-sdk");
await chmod(join(dist, "core/doors/cli/main.js"), 0o755).catch(unlessMissing);

async function buildWalls() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: {
      "warden": "core/walls/warden/main.ts",
      "guest": "core/walls/worker/guest.ts",
      "network": "core/walls/agent/network-main.ts",
      "gate": "core/records/gate/main.ts",
      "schema": "core/ground/checks/schema-main.ts",
      "bundler": "core/packages/bundler/main.ts",
      // The bundled tinypool starts its threads from `entry/worker.js` beside the file it stands in.
      "entry/worker": "node_modules/tinypool/dist/entry/worker.js",
      // The contract's schema library: as its many modules it would be most of the work of bundling a plugin.
      "typebox": "@sinclair/typebox",
    },
    outdir: join(dist, "walls"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: "eof",
    // A warden may not read the environment, and tinypool reads this on loading; "1" is what the host asks for anyway.
    define: { "process.env.PISCINA_DISABLE_ATOMICS": '"1"' },
    logLevel: "warning",
    write: false,
  });
  await writeFolder(join(dist, "walls"), [...outputFiles, ownPackage]);
}

/** Removes what tsc wrote for a source file that is gone: it would still be found by an import or by `npm pack`. */
async function removeStale(folder) {
  const sources = new Set((await listFiles(join(root, folder))).map((path) => relative(root, path)));
  for (const path of await listFiles(join(dist, folder))) {
    const source = relative(dist, path).replace(/(\.d\.ts|\.js\.map|\.js)$/, ".ts");
    if (!sources.has(source)) await rm(path);
  }
}
