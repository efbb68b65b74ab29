// Bundles the host for Node: some six hundred modules, of ours and of libraries, take several times as long to load as
// the few files that this makes of them. What is seldom needed stays in files of its own, loaded when it is.
import { chmod, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { root, unlessMissing, writeFolder } from "./outputs.mjs";

const folder = join(root, "dist/bundle");

// A program has the library or the command line, so they share no files: shared ones would be many and small.
const library = await bundle({
  "mod": "core/mod.ts",
  "client": "core/doors/client/mod.ts",
  "conformance": "core/kit/conformance/mod.ts",
  "plugin-sdk": "plugin-sdk/mod.ts",
  "testing": "plugin-sdk/testing.ts",
}, []);
const commandLine = await bundle({ "cli": "core/doors/cli/main.ts" }, [{ name: "commands", setup: joinCommands }]);
await writeFolder(folder, [...library, ...commandLine]);
await chmod(join(folder, "cli.js"), 0o755).catch(unlessMissing);

async function bundle(entryPoints, plugins) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: folder,
    // All in one folder, so that the way to another file is the same from each.
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    legalComments: "eof",
    // Native code, a library that starts threads from files of its own, and those of npm, loaded to install a package.
    external: [
      "libsql",
      "tinypool",
      "pacote",
      "npm-package-arg",
      "npm-registry-fetch",
      "@npmcli/config",
      "@npmcli/config/lib/definitions/index.js",
      "tar",
    ],
    // The library of WebSockets would load native code where it lies around.
    define: { "process.env.WS_NO_BUFFER_UTIL": '"1"', "process.env.WS_NO_UTF_8_VALIDATE": '"1"' },
    // As modules, of which what is not used is left out.
    alias: { yaml: join(root, "node_modules/yaml/browser/index.js") },
    // A library in the old form asks for Node's modules by it.
    banner: {
      js: 'import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);',
    },
    plugins: [{ name: "own-place", setup: keepOwnPlace }, ...plugins],
    write: false,
    logLevel: "warning",
  });
  return outputFiles;
}

/** A module goes on finding its neighbours as if it stood where tsc puts it. */
function keepOwnPlace({ onLoad }) {
  onLoad({ filter: /\.ts$/, namespace: "file" }, async ({ path }) => {
    const file = relative(root, path).replaceAll("\\", "/");
    if (!/^(?:core|plugin-sdk)\//.test(file)) return undefined;
    const text = await readFile(path, "utf8");
    if (!text.includes("import.meta.url")) return undefined;
    const own = join(root, "dist", file.replace(/\.ts$/, ".js"));
    const url = `new URL(${JSON.stringify(relative(folder, own).replaceAll("\\", "/"))}, import.meta.url).href`;
    return { contents: text.replaceAll("import.meta.url", url), loader: "ts", resolveDir: dirname(path) };
  });
}

/** The small commands load together: one by one they would cut what they share into dozens of files. */
function joinCommands({ onResolve, onLoad }) {
  const large = /\/(?:demo|attack|mcp|acp)\.ts$/;
  const joined = new Set();
  onResolve({ filter: /^\.\/commands\/[\w-]+\.ts$/ }, ({ path, kind, resolveDir }) => {
    if (kind !== "dynamic-import" || large.test(path)) return undefined;
    joined.add(join(resolveDir, path));
    return { path: "commands", namespace: "joined" };
  });
  onLoad({ filter: /.*/, namespace: "joined" }, () => ({
    contents: [...joined].sort().map((path) => `export * from ${JSON.stringify(path)};`).join("\n"),
    resolveDir: root,
  }));
}
