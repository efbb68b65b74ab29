import { quoteWord } from "../../../ground/config/grant-command.ts";
import { stopBundler } from "../../../packages/registry/make-bundle.ts";
import { mkdir, writeFile } from "../../../ground/runtime/files.ts";
import { dirname, join, resolve, shownPath } from "../../../ground/runtime/paths.ts";
import type { Invocation } from "../command.ts";
import { driftError } from "../drift-error.ts";
import { formatBytes } from "../render/quantities.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead plugin pack [folder]`. */
export async function pluginPack(call: Invocation): Promise<number> {
  const { terminal, args, options, json } = call;
  const folder = resolve(terminal.cwd, args[0] ?? ".");
  const { packPlugin } = await import("../../../kit/author/pack-plugin.ts");
  await refuseDrift(call, folder);
  const packed = await packPlugin(folder).finally(stopBundler);
  const { manifest, fileName, tarball, sha256, files, leftOut } = packed;
  const out = resolve(terminal.cwd, typeof options["out"] === "string" ? options["out"] : ".");
  const file = join(out, fileName);
  await mkdir(out, { recursive: true });
  await writeFile(file, tarball);
  if (typeof options["unpacked"] === "string") await writeUnder(resolve(terminal.cwd, options["unpacked"]), files);
  const rows = files.map(({ path, bytes }) => ({ path, bytes: bytes.length }));
  const report = {
    plugin_id: manifest.id,
    name: packed.name,
    version: manifest.version,
    file,
    sha256,
    files: rows,
    left_out: leftOut,
  };
  const shown = shownPath(terminal.cwd, file);
  const lines = [
    `Packed ${manifest.id} ${manifest.version} to ${file}`,
    ...rows.map(({ path, bytes }) => `  ${path.padEnd(24)} ${formatBytes(bytes)}`),
    ...leftOut.map((path) => `  left out: ${path}, which holds secrets`),
    `  sha256 ${sha256}`,
    "Next, one of:",
    asTyped(`  bulkhead plugin add ${quoteWord(shown)}`),
    `  npm publish ${quoteWord(shown)}`,
  ];
  await terminal.stdout.write(json ? `${JSON.stringify(report)}\n` : `${lines.join("\n")}\n`);
  return 0;
}

async function writeUnder(root: string, files: readonly { path: string; bytes: Uint8Array }[]): Promise<void> {
  for (const { path, bytes } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), bytes);
  }
}

/** Loads the plugin behind its walls: those who install a package must get what its manifest says. */
async function refuseDrift({ createHost }: Invocation, folder: string): Promise<void> {
  const host = await createHost({ root: folder, stateDir: null, bundledDir: null });
  try {
    const { id } = await host.registry.register(folder);
    const { drift } = await host.load(id);
    if (drift.length > 0) throw driftError(drift);
  } finally {
    await host.close();
  }
}
