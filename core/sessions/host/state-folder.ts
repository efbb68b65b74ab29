import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { whoElseMayChange } from "../../ground/runtime/own-folder.ts";
import { join, resolve } from "../../ground/runtime/paths.ts";
import { stateFolders } from "../../ground/runtime/state-folders.ts";

/** Where a host keeps its state: as it is told, else as its manifest says, else by the XDG rules. */
export function stateFolderOf(
  { stateDir, manifest }: { stateDir?: string | null; manifest?: HostManifest },
  root: string,
): string {
  if (typeof stateDir === "string") return stateDir;
  return manifest?.state_dir === undefined ? stateFolders().state : resolve(root, manifest.state_dir);
}

/**
 * Refuses a state folder into which others could put what a host believes: tokens, pins, where the daemon is.
 * @throws {BulkheadError} `io_error`
 */
export async function demandOwnState(stateDir: string): Promise<void> {
  const why = await whoElseMayChange(stateDir);
  if (why === null) return;
  throw new BulkheadError("io_error", `Cannot use the state folder "${stateDir}": ${why}.`, {
    hint: "Name another one with --state-dir, or make this one yours alone with chown and chmod.",
  });
}

/** Path of the journal in a host's part of a state folder. */
export function journalFile(part: string): string {
  return join(part, "journal.db");
}

/** Where in a state folder programs are pinned. */
export const pinsFolder = "pins";
