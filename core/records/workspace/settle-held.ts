import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HeldDecision, SessionHeld, SettledHeld } from "../../../plugin-sdk/held.ts";
import { type HeldItem, shownHeld } from "../gate/held-item.ts";
import { dropHeld } from "./drop-held.ts";
import type { HeldFiles, HeldRecord } from "./held-files.ts";

/** Held changes of a session in place, as clients see them. */
export function shownInPlace({ session_id, folder, at, items }: HeldRecord): SessionHeld {
  return { session_id, place: "inplace", folder, at, held: items.map(shownHeld) };
}

/**
 * Settles held changes of a session in place: `apply` leaves them as they are, `drop` undoes them.
 * @throws {BulkheadError} `not_found`; as {@link dropHeld}
 */
export async function settleInPlace(
  files: HeldFiles,
  { sessionId, decision }: { sessionId: string; decision: HeldDecision },
): Promise<SettledHeld> {
  const record = await files.read(sessionId);
  const chosen = chosenOf(record.items, decision.paths);
  if (decision.action === "drop") await dropHeld(record.folder, chosen);
  const left = record.items.filter((item) => !chosen.includes(item));
  await files.write({ ...record, items: left });
  return { session_id: sessionId, settled: chosen.map(({ path }) => path), held: left.map(shownHeld) };
}

/**
 * The items of these paths; all without paths.
 * @throws {BulkheadError} `not_found` for a path that is not held
 */
export function chosenOf<T extends Pick<HeldItem, "path">>(items: readonly T[], paths?: readonly string[]): T[] {
  if (paths === undefined) return [...items];
  const known = new Set(items.map(({ path }) => path));
  const unknown = paths.find((path) => !known.has(path));
  if (unknown !== undefined) throw new BulkheadError("not_found", `Nothing of the path "${unknown}" is held.`);
  return items.filter(({ path }) => paths.includes(path));
}
