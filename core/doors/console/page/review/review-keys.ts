import { useKeys } from "../keys.ts";
import { type DiffLine, linesOf, placeOf } from "./diff-lines.ts";
import type { PatchFile } from "./patch-files.ts";
import { type ReviewedFiles, scrollToFile } from "./reviewed-files.ts";

/** Gives keys their meaning in a review. */
export function useReviewKeys(reviewed: ReviewedFiles | null): void {
  const { state, files, markOf } = reviewed ?? {};
  if (reviewed === null || state === undefined || files === undefined || markOf === undefined) return useKeys({});
  const current = () => files.findIndex(({ path }) => path === state.cursor.value?.file);
  const go = (at: number, line: DiffLine | undefined) => {
    const file = files[at];
    if (file === undefined) return;
    const place = line === undefined ? { side: "new" as const, line: 0 } : placeOf(line);
    state.cursor.value = { file: file.path, ...place, to: place.line };
    scrollToFile(files, file.path, line === undefined ? undefined : `${place.side} ${place.line}`);
  };
  const goToFile = (by: 1 | -1) => {
    const at = openFile(reviewed, current(), by);
    go(at, startsOf(files[at])[0]);
  };
  const goToChange = (by: 1 | -1) => {
    const at = current();
    const lines = linesIn(files[at]);
    const here = lines.findIndex((line) => isAt(line, state.cursor.value));
    const starts = startsOf(files[at]).map((line) => lines.indexOf(line));
    const next = by === 1 ? starts.find((one) => one > here) : starts.findLast((one) => one < here);
    if (at !== -1 && next !== undefined && !isClosed(reviewed, files[at])) return go(at, lines[next]);
    const other = openFile(reviewed, at, by);
    go(other, startsOf(files[other]).at(by === 1 ? 0 : -1));
  };
  const goToLine = (by: 1 | -1, { extends: isRange }: { extends: boolean }) => {
    const [at, cursor] = [current(), state.cursor.value];
    const lines = linesIn(files[at]);
    const line = lines[lines.findIndex((one) => isAt(one, cursor)) + by];
    if (cursor === null || line === undefined) return;
    if (!isRange) return go(at, line);
    const place = placeOf(line);
    if (place.side === cursor.side) state.cursor.value = { ...cursor, line: place.line };
  };
  const withFile = (act: (path: string) => void) => {
    const file = files[current()];
    if (file !== undefined) act(file.path);
  };
  useKeys({
    j: () => goToChange(1),
    k: () => goToChange(-1),
    J: () => goToFile(1),
    K: () => goToFile(-1),
    n: () => goToLine(1, { extends: false }),
    p: () => goToLine(-1, { extends: false }),
    N: () => goToLine(1, { extends: true }),
    P: () => goToLine(-1, { extends: true }),
    c: () => reviewed.takesComments && commentHere(reviewed),
    e: () => withFile((path) => state.toggle(path, markOf(path))),
    s: () => (state.isSplit.value = !state.isSplit.value),
    v: () =>
      withFile((path) => {
        const mark = markOf(path);
        const is = !state.isViewed(path, mark);
        state.view(path, { is, mark });
        if (is) goToFile(1);
      }),
  });
}

function commentHere({ state }: ReviewedFiles): void {
  const cursor = state.cursor.value;
  if (cursor === null || cursor.line === 0) return;
  const { file, side, line, to } = cursor;
  state.comment(file, { side, line: Math.min(line, to) });
  if (line !== to) state.comment(file, { side, line: Math.max(line, to) }, { isRange: true });
}

/** The next file, or the one before, that is open; the same where there is none. */
function openFile(reviewed: ReviewedFiles, from: number, by: 1 | -1): number {
  const { files } = reviewed;
  for (let at = from + by; at >= 0 && at < files.length; at += by) {
    if (!isClosed(reviewed, files[at])) return at;
  }
  return from;
}

function isClosed({ state, markOf }: ReviewedFiles, file: PatchFile | undefined): boolean {
  return file !== undefined && state.isClosed(file.path, markOf(file.path));
}

function isAt(line: DiffLine, place: { side: string; line: number } | null): boolean {
  const at = placeOf(line);
  return place !== null && at.side === place.side && at.line === place.line;
}

const known = new WeakMap<PatchFile, DiffLine[]>();

function linesIn(file: PatchFile | undefined): DiffLine[] {
  if (file === undefined) return [];
  let lines = known.get(file);
  if (lines === undefined) known.set(file, lines = file.hunks().flatMap(linesOf));
  return lines;
}

/** The first lines of a file's changes. */
function startsOf(file: PatchFile | undefined): DiffLine[] {
  const lines = linesIn(file);
  return lines.filter(({ sign }, at) => sign !== " " && (lines[at - 1]?.sign ?? " ") === " ");
}
