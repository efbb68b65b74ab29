import type { ImportReport } from "../../../kit/author/import-plugin.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { stopBundler } from "../../../packages/registry/make-bundle.ts";
import { dirname, resolve } from "../../../ground/runtime/paths.ts";
import type { Invocation } from "../command.ts";
import { loadManifest } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead plugin import <file>`. */
export async function pluginImport(call: Invocation): Promise<number> {
  const { importPlugins } = await import("../../../kit/author/import-plugin.ts");
  const { terminal, args, options, json } = call;
  const text = (name: string) => (typeof options[name] === "string" ? options[name] : undefined);
  const manifest = await loadManifest(call);
  const report = await importPlugins(resolve(terminal.cwd, args[0] ?? ""), {
    into: resolve(terminal.cwd, text("into") ?? "."),
    root: manifest?.file === undefined ? terminal.cwd : dirname(manifest.file),
    tools: Object.keys(manifest?.tools ?? {}),
    id: text("id"),
    only: text("only"),
    command: text("command"),
    offline: options["offline"] === true,
  }).finally(stopBundler);
  await terminal.stdout.write(json ? jsonLines(report) : lines(report));
  return exitCodeOf(report);
}

/** Entries of a registry whose id is taken, or that are for other machines, are no failure of the whole. */
function exitCodeOf({ refused }: ImportReport): number {
  const failed = refused.find(({ error }) => error.code !== "already_exists" && error.code !== "unsupported");
  return failed === undefined ? 0 : errorTable[failed.error.code].exit_code;
}

function jsonLines({ written, refused }: ImportReport): string {
  return [...written, ...refused].map((one) => `${JSON.stringify(one)}\n`).join("");
}

function lines(report: ImportReport): string {
  const { written, refused, notes } = report;
  const many = written.length + refused.length > 1;
  const wrote = written.flatMap(({ id, folder, notes: own }) => [
    `Wrote the plugin ${id} to ${folder}`,
    ...own.map((note) => `  ${safeLine(note)}`),
    ...(many ? [] : [asTyped(`  Next: "bulkhead plugin check ${folder}"`)]),
  ]);
  const left = refused.flatMap(({ id, error }) => [
    `Left out ${safeLine(id)}: ${safeLine(error.message)}`,
    ...(error.hint === undefined ? [] : [`  ${safeLine(asTyped(error.hint))}`]),
  ]);
  return [...wrote, ...left, ...notes.map(safeLine), ...(many ? [summary(report)] : [])].map((one) => `${one}\n`).join(
    "",
  );
}

function summary({ written, refused }: ImportReport): string {
  const all = written.length + refused.length;
  const others = refused.length === 0 ? "" : " To import one that was left out: --only <id>.";
  return asTyped(`Imported ${written.length} of ${all}.${others} Next: "bulkhead plugin check <folder>"`);
}
