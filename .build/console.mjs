// Builds the console's page into dist/console/, with each file compressed beside it, so that the host only sends bytes.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root, writeFolder } from "./outputs.mjs";

const page = join(root, "core/doors/console/page");

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();

/** Writes the page into a folder: the scripts, the style sheet, and the files that need no building. */
export async function buildConsole(folder = join(root, "dist/console")) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: {
      app: join(page, "main.tsx"),
      style: join(page, "app.css"),
      theme: join(page, "shell/first-theme.ts"),
    },
    outdir: folder,
    bundle: true,
    // Parts that not every page shows become scripts of their own; what some of them share has no name but its hash.
    splitting: true,
    chunkNames: "[name]-[hash]",
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    charset: "utf8",
    logLevel: "warning",
    write: false,
  });
  const plain = await Promise.all(["index.html", "icon.svg"].map(async (name) => {
    return { path: join(folder, name), contents: await readFile(join(page, name)) };
  }));
  const built = outputFiles.map(({ path, contents }) => ({ path: path.replace(/style\.css$/, "app.css"), contents }));
  const files = [...plain, ...built];
  await writeFolder(
    folder,
    files.flatMap(({ path, contents }) => [
      { path, contents: Buffer.from(contents) },
      { path: `${path}.gz`, contents: gzipSync(contents, { level: 9 }) },
      { path: `${path}.br`, contents: compressBrotli(contents) },
    ]),
  );
}

function compressBrotli(contents) {
  return brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } });
}
