import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir, readdir } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { isThere } from "../git/look-at.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { type HeldLock, takeLock } from "../../ground/platform/state/lock-file.ts";
import { holderText } from "../../ground/platform/state/lock-holder.ts";

/** Bounds of a store. */
export interface StoreLimits {
  turns: number;
  /** Bytes of all packs. */
  bytes: number;
  /** Packs after which they become one. */
  packs: number;
  /** Changed files of a turn, and bytes of new content. */
  turn_files: number;
  turn_bytes: number;
}

const mib = 1024 * 1024;
/** Bounds of a conversation's store: 200 turns, 1 GiB; of a turn: 20,000 files, 256 MiB. */
export const usualLimits: StoreLimits = {
  turns: 200,
  bytes: 1024 * mib,
  packs: 40,
  turn_files: 20_000,
  turn_bytes: 256 * mib,
};

/** Place of one conversation's store. */
export interface StorePlace {
  /** Folder of all stores. */
  folder: string;
  conversation: string;
}

/** Folder of all stores of a state folder. */
export function storesIn(stateDir: string): string {
  return join(stateDir, "checkpoints");
}

/** Returns the conversations of which something is kept. */
export async function keptConversations(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter((name) => idForm.test(name)).sort();
}

/** Whether something is kept of a conversation. */
export function hasCheckpoints(place: StorePlace): Promise<boolean> {
  return isThere(folderOf(place));
}

/**
 * Removes the store of a conversation; nothing where there is none.
 * @throws {BulkheadError} `busy` while another one has it, `io_error`
 */
export async function removeCheckpoints(options: StorePlace): Promise<void> {
  const lock = await lockStore(options);
  try {
    await removeTree(folderOf(options));
  } finally {
    await lock.release();
  }
}

/**
 * Takes the lock of a store.
 * @throws {BulkheadError} as {@link removeCheckpoints}
 */
export async function lockStore(options: StorePlace): Promise<HeldLock> {
  const folder = folderOf(options);
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const taken = await takeLock(`${folder}.lock`, { unrecorded: true });
  if ("release" in taken) return taken;
  const who = holderText(taken.holder);
  throw new BulkheadError("busy", `Cannot use the checkpoints of "${options.conversation}": ${who} is using them.`, {
    hint: "Wait for the end of its turn, or interrupt it.",
  });
}

const idForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Folder of one conversation's store. */
export function folderOf({ folder, conversation }: StorePlace): string {
  // Ids become names of files.
  if (idForm.test(conversation)) return join(folder, conversation);
  throw new BulkheadError("invalid_request", `Cannot keep checkpoints of "${conversation}": it is no id.`);
}
