import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { hostManifestJsonSchema } from "../../../ground/config/host-manifest-schema.ts";
import { starterHostManifest } from "../../../packages/manifest/edit-host-manifest.ts";
import { recordWritten, writeRecorded } from "../../../ground/recorded/write-recorded.ts";
import { writeFile } from "../../../ground/platform/files/files.ts";
import { dirname, join, resolve } from "../../../ground/platform/files/paths.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead init`. */
export const defineInit: DefineCommand = (command, bind) => {
  command
    .option("--force", "overwrite an existing file")
    .addHelpText(...examples(
      ["bulkhead init", "write bulkhead.yaml in this folder"],
      ["bulkhead init --config ops/bulkhead.yaml --force", "write it elsewhere, over an existing file"],
    ))
    .action(bind(init));
};

const next =
  'Next: "bulkhead setup" finds the agents of this machine, "bulkhead plugin list" shows all that can be enabled.';

async function init(call: Invocation): Promise<number> {
  const { terminal, configFile, options } = call;
  const file = configFile === undefined ? join(terminal.cwd, "bulkhead.yaml") : resolve(terminal.cwd, configFile);
  const schema = join(dirname(file), "bulkhead.schema.json");
  await writeStarter(file, { force: options["force"] === true, schema });
  return await tell(call, { file, schema }, `Wrote ${file}, and beside it its schema for editors.\n${asTyped(next)}`);
}

/**
 * Writes a starter host manifest and, where it is asked for, its schema for editors.
 * @throws {BulkheadError} `already_exists` unless forced, `io_error`
 */
export async function writeStarter(
  file: string,
  { force = false, schema }: { force?: boolean; schema?: string } = {},
): Promise<void> {
  try {
    const text = starterHostManifest({ schema: schema !== undefined });
    if (force) await writeRecorded(file, { kind: "manifest", text, mode: 0o644 });
    else {
      await writeFile(file, text, { flag: "wx" });
      await recordWritten(file, { kind: "manifest", text });
    }
    if (schema !== undefined) await writeFile(schema, `${JSON.stringify(hostManifestJsonSchema(), null, 2)}\n`);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") {
      throw new BulkheadError("already_exists", `Cannot write ${file}: it already exists.`, {
        hint: "Use --force to overwrite it.",
        cause,
      });
    }
    throw new BulkheadError("io_error", `Cannot write ${file}: the folder is missing or not writable.`, { cause });
  }
}
