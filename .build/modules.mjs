// Makes a JavaScript file of each source file, as `tsc` would: plugins are bundled with the contract's, and programs of
// the tests load some of the host's. The declarations are left to `tsc`, which takes twenty times as long. Scripts for Perl
// are copied as they are.
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { listFiles, root, writeFolder } from "./outputs.mjs";

for (const name of ["core", "plugin-sdk", "test/hostile/cases"]) {
  const all = await listFiles(join(root, name));
  const files = all.filter((path) => path.endsWith(".ts") && !inPage(path));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: files.map((path) => relative(root, path)),
    outdir: join(root, "dist", name),
    outbase: name,
    // For the imports alone: every one of them stays one.
    bundle: true,
    plugins: [{ name: "imports", setup: keepImports }],
    format: "esm",
    platform: "node",
    target: "es2023",
    logLevel: "warning",
    write: false,
  });
  const scripts = await Promise.all(
    all.filter((path) => path.endsWith(".pl")).map(async (path) => {
      return { path: join(root, "dist", relative(root, path)), contents: await readFile(path) };
    }),
  );
  await writeFolder(join(root, "dist", name), [...outputFiles, ...scripts], /\.(js(\.map)?|pl)$/);
}

/** The console's page runs in a browser, and is a build of its own. */
function inPage(path) {
  return relative(root, path).replaceAll("\\", "/").startsWith("core/doors/console/page/");
}

function keepImports({ onResolve }) {
  onResolve({ filter: /.*/ }, ({ path, kind }) => {
    if (kind === "entry-point") return undefined;
    return { path: path.startsWith(".") ? path.replace(/\.ts$/, ".js") : path, external: true };
  });
}
