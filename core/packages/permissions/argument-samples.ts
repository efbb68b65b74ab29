import {
  type ArgumentPattern,
  formatArgumentPattern,
  matchesArguments,
  parseArgumentPattern,
} from "../../../plugin-sdk/argument-pattern.ts";

type Argument = ArgumentPattern[number];

/** A text that no pattern names: only a placeholder stands for it. */
const unnamed = "\u{e000}";

/** More arguments than the placeholders for single ones that patterns have in a row. */
const many = 11;

/**
 * Returns calls that represent all that a pattern allows: a pattern that allows them allows all of it. The first has the
 * fewest arguments; the others have many for `{...}`, and options for `{...}` and `{*}`.
 */
export function samplesOf(line: string): string[][] {
  const pattern = parseArgumentPattern(line);
  const option = `-${unnamed}`;
  const fill = (first: string, count: number) =>
    pattern.flatMap((argument) =>
      isRest(argument) ? new Array<string>(count).fill(first) : [sampleOf(argument, first)]
    );
  const hasRest = pattern.some(isRest);
  const hasAny = pattern.some((argument) => beginsWith(argument, "any"));
  return [
    fill(unnamed, 0),
    ...(hasRest ? [fill(unnamed, many)] : []),
    ...(hasRest || hasAny ? [fill(option, many)] : []),
  ];
}

/** Whether a pattern allows all that another one allows. */
export function coversPattern(wide: string, narrow: string): boolean {
  const pattern = parseArgumentPattern(wide);
  return samplesOf(narrow).every((args) => matchesArguments(pattern, args));
}

/** Writes a pattern in the form in which texts can be compared. */
export function sameForm(line: string): string {
  return formatArgumentPattern(parseArgumentPattern(line));
}

/** Whether some call may fit both patterns; true where that cannot be told. */
export function mayMeet(left: string, right: string): boolean {
  const [a, b] = [left, right].map(parseArgumentPattern) as [ArgumentPattern, ArgumentPattern];
  const [fixedA, fixedB] = [a, b].map((pattern) => pattern.filter((argument) => !isRest(argument)).length) as [
    number,
    number,
  ];
  if (fixedA < fixedB && !a.some(isRest) || fixedB < fixedA && !b.some(isRest)) return false;
  return beginAlike(a, b) && beginAlike([...a].reverse(), [...b].reverse());
}

/** Compares arguments in pairs, as far as no placeholder for many stands before them. */
function beginAlike(a: ArgumentPattern, b: ArgumentPattern): boolean {
  for (const [at, argument] of a.entries()) {
    const other = b[at];
    if (other === undefined || isRest(argument) || isRest(other)) return true;
    if (!argumentsMayMeet(argument, other)) return false;
  }
  return true;
}

function argumentsMayMeet(a: Argument, b: Argument): boolean {
  const [left, right] = [literalOf(a), literalOf(b)];
  if (left !== null) return matchesArguments([b], [left]);
  if (right !== null) return matchesArguments([a], [right]);
  const [headA, headB] = [a, b].map(([first]) => (first && "literal" in first ? first.literal : ""));
  return headA!.startsWith(headB!) || headB!.startsWith(headA!);
}

/** The text that an argument stands for; null for one with a placeholder. */
export function literalOf(argument: Argument): string | null {
  if (argument.some((piece) => "slot" in piece)) return null;
  return argument.map((piece) => ("literal" in piece ? piece.literal : "")).join("");
}

function sampleOf(argument: Argument, first: string): string {
  return argument.map((piece, at) => {
    if ("literal" in piece) return piece.literal;
    return at === 0 && piece.slot === "any" ? first : unnamed;
  }).join("");
}

function isRest(argument: Argument): boolean {
  return beginsWith(argument, "rest");
}

function beginsWith([first]: Argument, slot: "any" | "rest"): boolean {
  return first !== undefined && "slot" in first && first.slot === slot;
}
