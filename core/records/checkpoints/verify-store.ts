import { type GitDeadline, withDeadline } from "../git/deadline.ts";
import type { ShadowRepository } from "../git/shadow-repository.ts";
import { blobChanges } from "./blob-changes.ts";
import { blobsOf, missingObjects, packsAreWhole } from "./kept-objects.ts";
import { folderOf, type StorePlace } from "./store-place.ts";
import { readStoreRecord, type StoredTurn } from "./store-record.ts";

/** The trees of one turn, as the journal has them. */
interface JournalTurn {
  turn: number;
  before: string | null;
  after: string | null;
}

/** A turn of which the store does not have what the journal says. */
interface StoreFault {
  turn: number;
  /** `missing`: the store does not know it; `differs`: it has other trees; `damaged`: files of it cannot be read. */
  fault: "missing" | "differs" | "damaged";
}

/**
 * Checks a store against the trees that a journal has. Turns that the store no longer keeps, by its bounds, are no fault,
 * and neither is a conversation without a store. Changes nothing, and needs no lock.
 * @throws {BulkheadError} `timeout`, `invalid_request`
 */
export async function verifyCheckpoints(
  options: StorePlace & GitDeadline & { turns: readonly JournalTurn[] },
): Promise<StoreFault[]> {
  const folder = folderOf(options);
  const record = await readStoreRecord(folder);
  if (record === null) return [];
  return await withDeadline(options, async (signal) => {
    const shadow: ShadowRepository = { folder, workdir: folder, repository: null };
    const call = { index: "none", signal };
    const isWhole = await packsAreWhole(shadow, call);
    const faults: StoreFault[] = [];
    for (const { turn, before, after } of options.turns) {
      if (turn <= record.dropped || after === null) continue;
      const stored = record.turns.find((one) => one.turn === turn);
      if (stored === undefined) faults.push({ turn, fault: "missing" });
      else if (stored.after !== after || (before !== null && stored.before !== before)) {
        faults.push({ turn, fault: "differs" });
      } else if (!isWhole || !(await isThere(stored))) faults.push({ turn, fault: "damaged" });
    }
    return faults;

    async function isThere({ before, after, is_kept }: StoredTurn): Promise<boolean> {
      const changes = await blobChanges(shadow, { from: before, to: after!, call }).catch(() => null);
      if (changes === null) return false;
      return !is_kept || (await missingObjects(shadow, { ids: blobsOf(changes), call })).size === 0;
    }
  });
}
