import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { folderOf, type StorePlace } from "./store-place.ts";
import { readStoreRecord } from "./store-record.ts";

/** Files of a conversation as they were after a turn. */
export interface TurnTree {
  /** Git folder that has them. */
  store: string;
  tree: string;
  /** The commit that HEAD named then; null for none. */
  head: string | null;
  /** Paths of the working directory, and of the top of its work tree, then. */
  workdir: string;
  top: string;
}

/**
 * Finds the files of a conversation as they were after a turn; 0: before all. Reads only, also while a session has the store.
 * @throws {BulkheadError} `not_found` with the reason, where they are not kept
 */
export async function findTurnTree(
  { turn, ...place }: StorePlace & { turn: number },
): Promise<TurnTree> {
  const store = folderOf(place);
  const record = await readStoreRecord(store);
  if (record === null) throw notKept(turn, "checkpoints are off");
  const { turns: [oldest], dropped, workdir, top } = record;
  if (turn !== 0 && turn <= dropped) throw notKept(turn, "they are too old, and were dropped");
  const found = record.turns.find((one) => one.turn === turn);
  if (found?.is_kept === false) throw notKept(turn, "the turn changed too much");
  if (found !== undefined && found.after !== null) {
    return { store, tree: found.after, head: found.head_after, workdir, top };
  }
  // Files are the same until the first turn that is looked at.
  const isBefore = oldest !== undefined && dropped === 0 && (turn === 0 || turn === oldest.turn - 1);
  if (!isBefore) throw notKept(turn, "no checkpoint was taken then");
  return { store, tree: oldest.before, head: oldest.head_before, workdir, top };
}

function notKept(turn: number, why: string): BulkheadError {
  const what = turn === 0 ? "from before all turns" : `of turn ${turn}`;
  return new BulkheadError("not_found", `Cannot begin with the files ${what}: they are not kept, ${why}.`, {
    hint: "Sessions keep them that are started with checkpoints: true (--checkpoints), or wait for messages (--keep).",
  });
}
