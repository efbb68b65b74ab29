import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { folderFault } from "../../errors/write-fault.ts";
import { hostEnv } from "../engine/platform.ts";

/** Variables that name the folder for temporary files, in the order in which the runtimes ask for them. */
const variables = ["TMPDIR", "TMP", "TEMP"];

/**
 * Makes a folder for temporary files and returns its real path; the caller removes it.
 * @param name what it is for, in its own name: `bulkhead-<name>-…`
 * @throws {BulkheadError} `io_error` naming the folder where the system keeps such files
 */
export async function makeTemporaryFolder(name: string): Promise<string> {
  try {
    return await realpath(await mkdtemp(join(tmpdir(), `bulkhead-${name}-`)));
  } catch (cause) {
    throw unusable(cause);
  }
}

function unusable(cause: unknown): BulkheadError {
  const { code, state } = folderFault(cause, tmpdir());
  const variable = variables.find((name) => hostEnv(name));
  const named = variable === undefined ? "" : ` (${variable})`;
  return new BulkheadError("io_error", `Cannot make a temporary folder${named}: ${state}.`, {
    hint: `${code === "ENOENT" ? "Make it, or set" : "Set"} ${
      variable ?? "TMPDIR"
    } to a folder that this user may write to.`,
    cause,
  });
}
