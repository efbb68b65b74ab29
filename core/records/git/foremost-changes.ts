import { inTurns } from "../../ground/platform/engine/next-turn.ts";
import { pathKey } from "./git-call.ts";
import type { RawChange } from "./raw-diff.ts";

/** Changes that are described at most. A result with more would fill every log and every client. */
const mostChanges = 10_000;

/** Bytes of their paths. */
const mostPathBytes = 4 * 1024 * 1024;

/**
 * Divides changes into those that matter first, as many as a result lists, and the others: first what happened to files
 * that were there before, then new files that the repository tracks, then the rest, each in their order.
 * @param tracked keys of the new paths that the repository tracks now
 */
export async function foremostChanges(
  changes: readonly RawChange[],
  tracked: ReadonlySet<string>,
): Promise<{ foremost: RawChange[]; others: RawChange[] }> {
  const ranked: [RawChange[], RawChange[], RawChange[]] = [[], [], []];
  await inTurns(changes, (change) => {
    ranked[change.status !== "A" ? 0 : tracked.has(pathKey(change.path)) ? 1 : 2].push(change);
  });
  const foremost: RawChange[] = [];
  const others: RawChange[] = [];
  let left = mostPathBytes;
  await inTurns(ranked.flat(), (change) => {
    if (left > 0) left -= change.path.byteLength + (change.from?.byteLength ?? 0);
    (left >= 0 && foremost.length < mostChanges ? foremost : others).push(change);
  });
  return { foremost, others };
}
