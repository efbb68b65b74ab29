import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type GitDeadline, withDeadline } from "../git/deadline.ts";
import type { ShadowRepository } from "../git/shadow-repository.ts";
import { blobChanges } from "./blob-changes.ts";
import { blobsOf, missingObjects, packsAreWhole } from "./kept-objects.ts";
import { folderOf, hasCheckpoints, type StorePlace } from "./store-place.ts";
import { readStoreRecord, type StoredTurn, type StoreRecord } from "./store-record.ts";

/** The tree of one turn, as the journal has it. */
export interface JournalTurn {
  turn: number;
  /** Null where none was kept. */
  after: string | null;
  /** Real absolute path of the folder that its session worked in. */
  workdir: string;
}

/** A turn of which the store does not have what the journal says. */
export interface StoreFault {
  turn: number;
  /** `missing`: the store does not know it; `differs`: it has another tree; `damaged`: files of it cannot be read. */
  fault: "missing" | "differs" | "damaged";
}

/**
 * Checks a store against the trees that a journal has. Turns that the store no longer keeps are no fault: by its bounds, or
 * because the conversation has moved to another folder; neither is a conversation without a store. Changes nothing, and
 * needs no lock.
 * @throws {BulkheadError} `timeout`, `invalid_request`, `git_missing`
 */
export async function verifyCheckpoints(
  options: StorePlace & GitDeadline & { turns: readonly JournalTurn[] },
): Promise<StoreFault[]> {
  const folder = folderOf(options);
  if (!await hasCheckpoints(options)) return [];
  const record = await readStoreRecord(folder);
  return await withDeadline(options, async (signal) => {
    const shadow: ShadowRepository = { folder, workdir: folder, repository: null };
    const call = { index: "none", signal };
    const isWhole = record !== null && await packsAreWhole(shadow, call);
    const faults: StoreFault[] = [];
    for (const { turn, after, workdir } of options.turns) {
      if (after === null) continue;
      const fault = record === null ? "damaged" : await faultOf({ turn, after, workdir }, record);
      if (fault !== null) faults.push({ turn, fault });
    }
    return faults;

    async function faultOf(
      { turn, after, workdir }: JournalTurn,
      { turns, dropped, workdir: own }: StoreRecord,
    ): Promise<StoreFault["fault"] | null> {
      if (turn <= dropped || workdir !== own) return null;
      const stored = turns.find((one) => one.turn === turn);
      if (stored === undefined) return "missing";
      if (stored.after !== after) return "differs";
      return isWhole && await isThere(stored) ? null : "damaged";
    }

    async function isThere({ before, after, is_kept }: StoredTurn): Promise<boolean> {
      const changes = await blobChanges(shadow, { from: before, to: after!, call }).catch(noneOf);
      if (changes === null) return false;
      return !is_kept || (await missingObjects(shadow, { ids: blobsOf(changes), call })).size === 0;
    }
  });
}

/** Returns null for what git cannot read; without git nothing can be said. */
function noneOf(error: unknown): null {
  if (error instanceof BulkheadError && error.code === "io_error") return null;
  throw error;
}
