import { diffWordsWithSpace } from "diff";

/** A part of a text, from one index to another. */
export interface TextRange {
  from: number;
  to: number;
}

/** Words of longer lines are not compared, nor of lines that differ in more places. */
const longestLine = 1000;
const mostEdits = 80;
/** Lines that have less than this share of their characters in common are two lines, not one that was changed. */
const leastShared = 0.3;

/** Finds the words in which two lines differ; null where they have too little in common, or are too long to compare. */
export function changedWords(before: string, after: string): { before: TextRange[]; after: TextRange[] } | null {
  if (before.length > longestLine || after.length > longestLine) return null;
  const parts = diffWordsWithSpace(before, after, { maxEditLength: mostEdits });
  if (parts === undefined) return null;
  const found = { before: [] as TextRange[], after: [] as TextRange[] };
  let [left, right, shared] = [0, 0, 0];
  for (const { value, added, removed } of parts) {
    if (added) found.after.push({ from: right, to: right + value.length });
    else if (removed) found.before.push({ from: left, to: left + value.length });
    else shared += value.trim().length;
    if (!added) left += value.length;
    if (!removed) right += value.length;
  }
  return shared < leastShared * Math.max(before.trim().length, after.trim().length) ? null : found;
}

/** Cuts pieces of a text at the ends of ranges, and tells which of them are in one. */
export function cutAt<T extends { text: string }>(
  pieces: readonly T[],
  ranges: readonly TextRange[],
): (T & { isChanged: boolean })[] {
  const cut: (T & { isChanged: boolean })[] = [];
  let start = 0;
  for (const piece of pieces) {
    const end = start + piece.text.length;
    const edges = ranges.flatMap(({ from, to }) => [from, to]).filter((edge) => start < edge && edge < end);
    for (const [at, from] of [start, ...edges].entries()) {
      const text = piece.text.slice(from - start, (edges[at] ?? end) - start);
      cut.push({ ...piece, text, isChanged: ranges.some((range) => range.from <= from && from < range.to) });
    }
    start = end;
  }
  return cut;
}
