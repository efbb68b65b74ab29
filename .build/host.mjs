// Bundles the host for Node: some six hundred modules, of ours and of libraries, take several times as long to load as
// the few files that this makes of them. What is seldom needed stays in files of its own, loaded when it is.
import { createHash } from "node:crypto";
import { chmod, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { listFiles, root, unlessMissing, writeFolder } from "./outputs.mjs";

const folder = join(root, "dist/bundle");

/** Libraries that few ways through the program need. Each is a file that is loaded on first use. */
const libraries = {
  mcp: ["@modelcontextprotocol/server", "@modelcontextprotocol/server/stdio"],
  acp: ["@agentclientprotocol/sdk"],
  nats: ["@nats-io/transport-node", "@nats-io/jetstream", "@nats-io/obj"],
  yaml: ["yaml"],
  zod: ["zod"],
  "zod-mini": ["zod/mini"],
};

/** Large libraries of which only those names are bundled that our modules use, as `z.name`. */
const takenByName = ["zod", "zod/mini"];

const common = {
  absWorkingDir: root,
  outdir: folder,
  bundle: true,
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
  define: {
    "process.env.WS_NO_BUFFER_UTIL": '"1"',
    "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
    "bulkheadBuild": JSON.stringify(await digestOfSources()),
  },
  // As modules, of which what is not used is left out.
  alias: { yaml: join(root, "node_modules/yaml/browser/index.js") },
  write: false,
  logLevel: "warning",
};

// A program has the library or the command line, so they share no files: shared ones would be many and small.
const library = await bundleLibrary({
  "mod": "core/mod.ts",
  "client": "core/doors/client/mod.ts",
  "conformance": "core/kit/conformance/mod.ts",
  "plugin-sdk": "plugin-sdk/mod.ts",
  "testing": "plugin-sdk/testing.ts",
});
await writeFolder(folder, [...library, ...await bundleCommandLine()]);
await chmod(join(folder, "cli.js"), 0o755).catch(unlessMissing);

/** Tells two builds of a version apart. */
async function digestOfSources() {
  const folders = await Promise.all(["core", "plugin-sdk"].map((name) => listFiles(join(root, name))));
  const hash = createHash("sha256");
  for (const file of [...folders.flat().sort(), join(root, "package-lock.json")]) {
    hash.update(`${relative(root, file)}\0`).update(await readFile(file).catch(unlessMissing) ?? "");
  }
  return hash.digest("hex").slice(0, 12);
}

async function bundleLibrary(entryPoints) {
  const { outputFiles } = await build({
    ...common,
    entryPoints,
    // All in one folder, so that the way to another file is the same from each.
    chunkNames: "[name]-[hash]",
    splitting: true,
    format: "esm",
    // A library in the old form asks for Node's modules by it.
    banner: {
      js: 'import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);',
    },
    plugins: [ownPlace("import.meta.url")],
  });
  return outputFiles;
}

/**
 * Bundles the command line as scripts in the old form: only for those can the code be kept that the engine has compiled.
 * What a module needs is loaded with it, so the one file of all our modules costs a command only what it uses.
 */
async function bundleCommandLine() {
  const files = [];
  const places = new Map();
  for (const [name, specifiers] of Object.entries(libraries)) {
    const whole = (specifier, index) => `export * as m${index} from ${JSON.stringify(specifier)};`;
    const isTakenByName = takenByName.includes(specifiers[0]);
    const lines = isTakenByName ? [await usedNames(specifiers[0])] : specifiers.map(whole);
    const file = await bundleScript({ stdin: entry(lines.join("\n")), outName: name });
    files.push(file);
    const place = `require("./${basename(file.path)}")`;
    specifiers.forEach((specifier, index) => places.set(specifier, isTakenByName ? place : `${place}.m${index}`));
  }
  const program = await bundleScript({
    entryPoints: { program: "core/doors/cli/start.ts" },
    outName: "program",
    places,
  });
  const { outputFiles } = await build({
    ...common,
    stdin: entry(`
      import { keepInspectorShut } from "./core/ground/platform/engine/keep-inspector-shut.ts";
      import { loadProgram } from "./core/ground/platform/engine/load-program.ts";
      // Must run before any other module loads: until then a signal would open this process to a debugger.
      keepInspectorShut();
      await loadProgram(new URL(${JSON.stringify(basename(program.path))}, import.meta.url));
    `),
    entryNames: "cli",
    format: "esm",
    banner: { js: "#!/usr/bin/env node" },
  });
  return [...files, program, ...outputFiles];
}

/** Makes one script, named after what it holds: code is kept by that name. */
async function bundleScript({ outName, places = new Map(), ...input }) {
  const { outputFiles: [file] } = await build({
    ...common,
    ...input,
    entryNames: `${outName}-[hash]`,
    format: "cjs",
    // The engine holds a script's text as long as the process runs. Names stay, and an error shows a short line.
    minifyWhitespace: true,
    lineLimit: 120,
    // The engine loads modules for such a script only with a warning; all libraries outside can be required.
    supported: { "dynamic-import": false },
    outExtension: { ".js": ".cjs" },
    banner: { js: 'const bundleUrl=require("node:url").pathToFileURL(__filename).href;' },
    plugins: [shared(places), ownPlace("bundleUrl")],
  });
  return file;
}

/** Exports what our modules use of a library that they import as `z`, so that the rest of it is left out. */
async function usedNames(specifier) {
  const used = new Set();
  for (const file of await readdir(join(root, "core"), { recursive: true })) {
    if (!file.endsWith(".ts")) continue;
    const text = await readFile(join(root, "core", file), "utf8");
    const [, form] = new RegExp(`^import (?!type )(.+) from "${specifier}";$`, "m").exec(text) ?? [];
    if (form === undefined) continue;
    if (form !== "* as z") throw new Error(`core/${file} must import "${specifier}" as "* as z".`);
    for (const [, name] of text.matchAll(/\bz\.(\w+)/g)) used.add(name);
  }
  // Some are types, of which nothing is left here.
  const library = await import(specifier);
  const names = [...used].filter((name) => name in library).sort();
  return `export { ${names.join(", ")} } from ${JSON.stringify(specifier)};`;
}

function entry(contents) {
  return { contents, resolveDir: root, sourcefile: "entry.js" };
}

/** Takes libraries that are files already from those. */
function shared(places) {
  const setup = ({ onResolve, onLoad }) => {
    onResolve({ filter: /^[@a-z]/ }, ({ path }) => places.has(path) ? { path, namespace: "shared" } : undefined);
    onResolve({ filter: /^\.\/[\w-]+\.cjs$/, namespace: "shared" }, ({ path }) => ({ path, external: true }));
    onLoad(
      { filter: /.*/, namespace: "shared" },
      ({ path }) => ({ contents: `module.exports = ${places.get(path)};` }),
    );
  };
  return { name: "shared", setup };
}

/** A module goes on finding its neighbours as if it stood where tsc puts it. */
function ownPlace(ownUrl) {
  const setup = ({ onLoad }) => {
    onLoad({ filter: /\.ts$/, namespace: "file" }, async ({ path }) => {
      const file = relative(root, path).replaceAll("\\", "/");
      if (!/^(?:core|plugin-sdk)\//.test(file)) return undefined;
      const text = await readFile(path, "utf8");
      if (!text.includes("import.meta.url")) return undefined;
      const own = join(root, "dist", file.replace(/\.ts$/, ".js"));
      const url = `new URL(${JSON.stringify(relative(folder, own).replaceAll("\\", "/"))}, ${ownUrl}).href`;
      return { contents: text.replaceAll("import.meta.url", url), loader: "ts", resolveDir: dirname(path) };
    });
  };
  return { name: "own-place", setup };
}
