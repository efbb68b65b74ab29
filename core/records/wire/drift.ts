import type { WireDrift } from "../../../plugin-sdk/black-box.ts";
import type { NormalCall } from "./normal-request.ts";

/** Places that are told, and letters of one line. */
const mostPlaces = 5;
const mostLetters = 160;
/** Lines that are gone, or come, in one place. */
const mostLines = 8;

interface Difference {
  place: string;
  recorded: unknown;
  now: unknown;
}

/**
 * Tells how a call differs from the one that was recorded.
 * @param recorded the nearest call that was not made yet; null where there is none of its kind
 */
export function driftOf(
  made: NormalCall,
  { call, recorded }: { call: number; recorded: { call: number; normal: NormalCall } | null },
): WireDrift {
  if (recorded === null) {
    return {
      call,
      line: made.line,
      recorded_call: null,
      place: null,
      difference: "no such call is left in the record",
    };
  }
  const found: Difference[] = [];
  compare(recorded.normal.body, made.body, { place: "", found });
  const [first] = found;
  const { line } = recorded.normal;
  const lines = [
    `--- recorded call ${recorded.call}, ${line}`,
    `+++ call ${call} now, ${made.line}`,
    ...found.flatMap(hunk),
  ];
  return {
    call,
    line: made.line,
    recorded_call: recorded.call,
    place: first === undefined && line !== made.line ? "the path" : first?.place || "the body",
    difference: lines.join("\n"),
  };
}

/** Collects the first differences of two values. */
function compare(
  recorded: unknown,
  now: unknown,
  { place, found }: { place: string; found: Difference[] },
): void {
  if (found.length >= mostPlaces || recorded === now) return;
  const [before, after] = [fieldsOf(recorded), fieldsOf(now)];
  if (before === null || after === null || Array.isArray(recorded) !== Array.isArray(now)) {
    found.push({ place, recorded, now });
    return;
  }
  const isList = Array.isArray(recorded);
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const below = isList ? `${place}[${name}]` : place === "" ? name : `${place}.${name}`;
    compare(before[name], after[name], { place: below, found });
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null ? { ...value } : null;
}

function hunk({ place, recorded, now }: Difference): string[] {
  const [before, after] = [linesOf(recorded), linesOf(now)];
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let kept = 0;
  while (
    kept < before.length - from && kept < after.length - from && before.at(-1 - kept) === after.at(-1 - kept)
  ) kept++;
  const [gone, come] = [before.slice(from, before.length - kept), after.slice(from, after.length - kept)];
  const at = lettersBefore(gone[0] ?? "", come[0] ?? "");
  return [
    `@@ ${place || "the body"}${before.length > 1 ? `, line ${from + 1}` : ""} @@`,
    ...before.slice(Math.max(0, from - 1), from).map((line) => ` ${shown(line, 0)}`),
    ...shownLines("-", gone, at),
    ...shownLines("+", come, at),
  ];
}

function shownLines(mark: string, lines: readonly string[], at: number): string[] {
  const more = lines.length > mostLines ? [`${mark}… ${lines.length - mostLines} more lines`] : [];
  return [...lines.slice(0, mostLines).map((line, index) => `${mark}${shown(line, index === 0 ? at : 0)}`), ...more];
}

/** The part of a line around the letter at which it begins to differ. */
function shown(line: string, at: number): string {
  const from = at < mostLetters / 2 ? 0 : at - mostLetters / 4;
  const part = line.slice(from, from + mostLetters);
  return `${from > 0 ? "…" : ""}${part}${from + mostLetters < line.length ? "…" : ""}`;
}

function lettersBefore(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  return at;
}

function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  return (typeof value === "string" ? value : JSON.stringify(value)).split("\n");
}
