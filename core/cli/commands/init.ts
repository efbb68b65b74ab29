import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { starterHostManifest } from "../../registry/edit-host-manifest.ts";
import { writeFile } from "../../runtime/files.ts";
import { join, resolve } from "../../runtime/paths.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";

/** `bulkhead init`. */
export const defineInit: DefineCommand = (command, bind) => {
  command
    .option("--force", "overwrite the file that is there")
    .addHelpText(
      "after",
      examples(
        ["bulkhead init", "write bulkhead.yaml in this folder"],
        ["bulkhead init --config ops/bulkhead.yaml --force", "write it elsewhere, whatever is there"],
      ),
    )
    .action(bind(init));
};

async function init({ terminal, configFile, options, json }: Invocation): Promise<number> {
  const file = configFile === undefined ? join(terminal.cwd, "bulkhead.yaml") : resolve(terminal.cwd, configFile);
  try {
    await writeFile(file, starterHostManifest(), { flag: options["force"] === true ? "w" : "wx" });
  } catch (cause) {
    if (isExisting(cause)) {
      throw new BulkheadError("already_exists", `Cannot write ${file}: it is there already.`, {
        hint: "Use --force to overwrite it.",
        cause,
      });
    }
    throw new BulkheadError("io_error", `Cannot write ${file}: the folder is missing or not writable.`, { cause });
  }
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ file })}\n`
      : `Wrote ${file}.\nNext: "bulkhead plugin list" shows what can be enabled, "bulkhead doctor" what works here.\n`,
  );
  return 0;
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
