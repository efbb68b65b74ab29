import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { whoElseMayChange } from "../../../ground/platform/files/own-folder.ts";
import { join, resolve } from "../../../ground/platform/files/paths.ts";
import { stateFolders } from "../../../ground/platform/state/state-folders.ts";

/** Returns the folder of a host's state: the given one, else the host manifest's, else by the XDG rules. */
export function stateFolderOf(
  { stateDir, manifest }: {
    stateDir?: string | null | undefined;
    manifest?: Pick<HostManifest, "state_dir"> | undefined;
  },
  root: string,
): string {
  if (typeof stateDir === "string") return stateDir;
  return manifest?.state_dir === undefined ? stateFolders().state : resolve(root, manifest.state_dir);
}

/**
 * Refuses a state folder in which other users could plant files that a host trusts: tokens, pins, the daemon's address.
 * @throws {BulkheadError} `io_error`
 */
export async function demandOwnState(stateDir: string): Promise<void> {
  const why = await whoElseMayChange(stateDir);
  if (why === null) return;
  throw new BulkheadError("io_error", `Cannot use the state folder "${stateDir}": ${why}.`, {
    hint: "Name another one with --state-dir, or make this one yours alone with chown and chmod.",
  });
}

/** Returns the path of the journal in a host's part of a state folder. */
export function journalFile(part: string): string {
  return join(part, "journal.db");
}

/** Returns the folder of the private git folders of sessions in a host's part of a state folder. */
export function privateGitFolder(part: string): string {
  return join(part, "git");
}

/** Name of the folder of pins in a state folder. */
export const pinsFolder = "pins";
