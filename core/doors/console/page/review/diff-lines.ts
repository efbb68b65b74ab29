import type { Hunk } from "./patch-files.ts";

/** One line of a diff. */
export interface DiffLine {
  sign: " " | "+" | "-";
  /** Its numbers in the old and the new file; null where it is not in that one. */
  old: number | null;
  new: number | null;
  text: string;
  /** The line that stands in its place on the other side. */
  mate: DiffLine | null;
}

/** Unchanged lines that a patch shows around a change. */
const context = 3;

/** A place of a line by which a person names it. */
export interface LinePlace {
  side: "old" | "new";
  line: number;
}

/** A part of a file's diff: lines that follow each other, or lines that are not shown. `to`: null where the end is not known. */
export type DiffPiece = { lines: readonly DiffLine[] } | { from: number; to: number | null };

/** The place of a line: of a removed one in the old file, of any other in the new one. */
export function placeOf(line: DiffLine): LinePlace {
  return line.new === null ? { side: "old", line: line.old ?? 0 } : { side: "new", line: line.new };
}

/** Reads the lines of a hunk, each removed one beside the added one that stands in its place. */
export function linesOf({ oldStart, newStart, lines }: Hunk): DiffLine[] {
  let [before, after] = [oldStart, newStart];
  const all: DiffLine[] = [];
  for (const line of lines) {
    const sign = line[0];
    if (sign !== " " && sign !== "+" && sign !== "-") continue;
    all.push({
      sign,
      old: sign === "+" ? null : before++,
      new: sign === "-" ? null : after++,
      text: line.slice(1),
      mate: null,
    });
  }
  for (const block of blocksOf(all)) pairLines(block);
  return all;
}

/** Lines that were changed together. */
interface ChangedBlock {
  removed: DiffLine[];
  added: DiffLine[];
}

function blocksOf(lines: readonly DiffLine[]): ChangedBlock[] {
  return lines.flatMap((_, at) => isStart(lines, at) ? [blockAt(lines, at)] : []);
}

/** Whether a change begins with a line: removed lines come before the added ones. */
function isStart(lines: readonly DiffLine[], at: number): boolean {
  const [sign, before] = [lines[at]?.sign, lines[at - 1]?.sign ?? " "];
  return sign === "-" ? before !== "-" : sign === "+" && before === " ";
}

function blockAt(lines: readonly DiffLine[], start: number): ChangedBlock {
  const block: ChangedBlock = { removed: [], added: [] };
  for (let at = start; at < lines.length && (at === start || !isStart(lines, at)); at++) {
    const line = lines[at];
    if (line === undefined || line.sign === " ") break;
    block[line.sign === "-" ? "removed" : "added"].push(line);
  }
  return block;
}

/** Pairs of lines that are compared for the best match; of longer changes, lines go together by their order. */
const mostPairs = 400;
/** Lines that have less in common are two lines, not one that was changed. */
const leastAlike = 0.4;

/** Joins each removed line with the added one that it became: lines that are alike, in their order. */
function pairLines({ removed, added }: ChangedBlock): void {
  if (removed.length * added.length > mostPairs) {
    for (const [at, one] of removed.entries()) join(one, added[at]);
    return;
  }
  // best[i][j]: how alike the lines from i and j on are, at best.
  const best = Array.from({ length: removed.length + 1 }, () => new Float64Array(added.length + 1));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  const alike = removed.map((one) => added.map((other) => likeness(one.text, other.text)));
  for (let i = removed.length - 1; i >= 0; i--) {
    for (let j = added.length - 1; j >= 0; j--) {
      const together = at(i + 1, j + 1) + (alike[i]?.[j] ?? 0);
      best[i]?.fill(Math.max(together, at(i + 1, j), at(i, j + 1)), j, j + 1);
    }
  }
  for (let [i, j] = [0, 0]; i < removed.length && j < added.length;) {
    if (at(i, j) === at(i + 1, j)) i++;
    else if (at(i, j) === at(i, j + 1)) j++;
    else join(removed[i++], added[j++]);
  }
}

function join(one: DiffLine | undefined, other: DiffLine | undefined): void {
  if (one !== undefined && other !== undefined) [one.mate, other.mate] = [other, one];
}

/** Share of the words that two lines have in common; 0 where that is little. */
function likeness(one: string, other: string): number {
  const words = wordsIn(one);
  const others = new Map<string, number>();
  for (const word of wordsIn(other)) others.set(word, (others.get(word) ?? 0) + word.length);
  let shared = 0;
  for (const word of words) {
    const left = others.get(word) ?? 0;
    if (left < word.length) continue;
    others.set(word, left - word.length);
    shared += word.length;
  }
  const most = Math.max(lengthOf(words), lengthOf(wordsIn(other)));
  return most > 0 && shared >= leastAlike * most ? shared / most : 0;
}

function wordsIn(text: string): string[] {
  return text.slice(0, 1000).match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function lengthOf(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.length, 0);
}

/** Puts lines side by side: the old file's on the left, the new file's on the right. */
export function sidesOf(lines: readonly DiffLine[]): { left: DiffLine | null; right: DiffLine | null }[] {
  const rows: { left: DiffLine | null; right: DiffLine | null }[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.sign === " ") rows.push({ left: line, right: line });
    else if (isStart(lines, at)) rows.push(...sidesIn(blockAt(lines, at)));
  }
  return rows;
}

/** Puts the lines of one change side by side: lines that belong together in one row, others where there is room. */
function sidesIn({ removed, added }: ChangedBlock): { left: DiffLine | null; right: DiffLine | null }[] {
  const rows: { left: DiffLine | null; right: DiffLine | null }[] = [];
  for (let [old, now] = [0, 0]; old < removed.length || now < added.length;) {
    const [left = null, right = null] = [removed[old], added[now]];
    const together = left?.mate === right ||
      left !== null && right !== null && left.mate === null && right.mate === null;
    const takesLeft = left !== null && (together || left.mate === null || right === null);
    const takesRight = right !== null && (together || !takesLeft);
    rows.push({ left: takesLeft ? left : null, right: takesRight ? right : null });
    old += takesLeft ? 1 : 0;
    now += takesRight ? 1 : 0;
  }
  return rows;
}

/** The parts of a file of which only the hunks are known. */
export function piecesOfHunks(hunks: readonly Hunk[], { isWhole }: { isWhole: boolean }): DiffPiece[] {
  const pieces: DiffPiece[] = [];
  let next = 1;
  for (const hunk of hunks) {
    const lines = linesOf(hunk);
    const first = lines.find((line) => line.new !== null)?.new ?? hunk.newStart;
    if (!isWhole && first > next) pieces.push({ from: next, to: first - 1 });
    pieces.push({ lines });
    next = (lines.findLast((line) => line.new !== null)?.new ?? hunk.newStart) + 1;
  }
  // Fewer unchanged lines after the last change than a patch shows: the file ends there.
  const tail = hunks.at(-1)?.lines.slice(-context) ?? [];
  if (!isWhole && tail.length === context && tail.every((line) => line.startsWith(" "))) {
    pieces.push({ from: next, to: null });
  }
  return pieces;
}

/** The parts of a file of which all lines are known: those near a change, and those that a person opened. */
export function piecesOfLines(
  lines: readonly DiffLine[],
  opened: readonly { from: number; to: number }[],
): DiffPiece[] {
  const near = new Uint8Array(lines.length);
  for (const [at, { sign }] of lines.entries()) {
    if (sign !== " ") near.fill(1, Math.max(0, at - context), at + context + 1);
  }
  const pieces: DiffPiece[] = [];
  let [run, hides]: [DiffLine[], boolean | null] = [[], null];
  const end = () => {
    if (run.length === 0) return;
    const [from, to] = [run[0]?.new ?? 1, run.at(-1)?.new ?? 1];
    pieces.push(hides ? { from, to } : { lines: run });
  };
  for (const [at, line] of lines.entries()) {
    const number = line.new ?? 0;
    const isHidden = near[at] === 0 && !opened.some(({ from, to }) => from <= number && number <= to);
    if (isHidden !== hides) {
      end();
      [run, hides] = [[], isHidden];
    }
    run.push(line);
  }
  end();
  return pieces;
}
