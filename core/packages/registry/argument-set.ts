import {
  type ArgumentPattern,
  type ArgumentPiece,
  formatArgumentPattern,
  looksLikeOption,
  parseArgumentPattern,
} from "../../../plugin-sdk/argument-pattern.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

type Argument = readonly ArgumentPiece[];

/** Steps that comparing may take: a stranger's patterns must not keep the host busy. A fraction of a second. */
const maxSteps = 3_000_000;
let spent: number | null = null;

/**
 * Bounds all comparisons that are made in it, together.
 * @throws {BulkheadError} `invalid_manifest` when they take too long
 */
export function boundComparing<T>(compare: () => T): T {
  if (spent !== null) return compare();
  spent = 0;
  try {
    return compare();
  } finally {
    spent = null;
  }
}

function spend(steps: number): void {
  // Each comparison costs something, however short it is.
  spent = (spent ?? 0) + 16 + steps;
  if (spent <= maxSteps) return;
  throw new BulkheadError("invalid_manifest", "Cannot compare argument patterns: they are too long or too many.", {
    hint: "Write fewer and shorter patterns, with fewer {...} in each.",
  });
}

/** Intersections of two patterns can be many; more than this are left out, which only narrows. */
const maxPatterns = 64;

/**
 * The argument lists that both sets of patterns allow, again as patterns. Exact for whole arguments; where two
 * arguments overlap and neither is within the other, that overlap is left out, so the answer is never wider.
 * @throws {BulkheadError} `invalid_manifest` for a line that is no pattern, and for patterns that take too long
 */
export function meetPatterns(left: readonly string[], right: readonly string[]): string[] {
  return boundComparing(() => {
    const found: ArgumentPattern[] = [];
    for (const a of left) {
      for (const b of right) found.push(...meet(canonical(a), canonical(b)));
    }
    return narrowest(found).map(formatArgumentPattern);
  });
}

/**
 * The patterns that share no argument list with a denied one. A pattern that only partly overlaps goes as well,
 * because what would be left of it cannot be written as patterns.
 */
export function withoutPatterns(patterns: readonly string[], denied: readonly string[]): string[] {
  return boundComparing(() => {
    const taken = denied.map(canonical);
    return patterns.filter((line) => !taken.some((pattern) => overlap(canonical(line), pattern)));
  });
}

/** Whether the second set of patterns allows nothing that the first does not. */
export function coversPatterns(wide: readonly string[], narrow: readonly string[]): boolean {
  return boundComparing(() => {
    const all = wide.map(canonical);
    return narrow.every((line) => all.some((pattern) => covers(pattern, canonical(line))));
  });
}

/** `{...} {*}` and `{*} {...}` allow the same, as do `{...} {...}` and `{...}`: one form for each. */
function canonical(line: string): ArgumentPattern {
  return canonicalPattern(parseArgumentPattern(line));
}

function canonicalPattern(pattern: ArgumentPattern): ArgumentPattern {
  const written: Argument[] = [];
  for (const argument of pattern) {
    const last = written.at(-1);
    if (last && isRest(last) && isRest(argument)) continue;
    if (last && isRest(last) && isAny(argument)) written.splice(-1, 0, argument);
    else written.push(argument);
  }
  return written;
}

function meet(a: ArgumentPattern, b: ArgumentPattern): ArgumentPattern[] {
  const known = new Map<number, ArgumentPattern[]>();
  // Caches the meet of both tails per pair of positions: many ways lead to one pair.
  const from = (i: number, j: number): ArgumentPattern[] => {
    const key = i * (b.length + 1) + j;
    const found = known.get(key) ?? meetFrom(a[i], b[j], (di, dj) => from(i + di, j + dj));
    known.set(key, found);
    return found;
  };
  return from(0, 0);
}

function meetFrom(
  headA: Argument | undefined,
  headB: Argument | undefined,
  rest: (di: 0 | 1, dj: 0 | 1) => ArgumentPattern[],
): ArgumentPattern[] {
  if (!headA && !headB) return [[]];
  if (headA && headB && isRest(headA) && isRest(headB)) return narrowest(after(headA, [...rest(1, 0), ...rest(0, 1)]));
  if (headA && isRest(headA)) return narrowest([...rest(1, 0), ...(headB ? after(headB, rest(0, 1)) : [])]);
  if (headB && isRest(headB)) return narrowest([...rest(0, 1), ...(headA ? after(headA, rest(1, 0)) : [])]);
  if (!headA || !headB) return [];
  const head = meetArgument(headA, headB);
  return head ? after(head, rest(1, 1)) : [];
}

function after(head: Argument, tails: readonly ArgumentPattern[]): ArgumentPattern[] {
  return tails.map((tail) => {
    spend(tail.length);
    return canonicalPattern([head, ...tail]);
  });
}

/** Sorted, without those that another one covers. */
function narrowest(patterns: readonly ArgumentPattern[]): ArgumentPattern[] {
  const byText = new Map(patterns.map((pattern) => [formatArgumentPattern(pattern), pattern]));
  const unique = [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pattern]) => pattern);
  const kept: ArgumentPattern[] = [];
  for (const [index, pattern] of unique.entries()) {
    const covered = unique.some((other, at) =>
      at !== index && covers(other, pattern) && (at < index || !covers(pattern, other))
    );
    if (!covered) kept.push(pattern);
  }
  return kept.slice(0, maxPatterns);
}

function covers(wide: ArgumentPattern, narrow: ArgumentPattern): boolean {
  return table(wide, narrow, (w, n, at) => {
    if (w && isRest(w)) return at(1, 0) || (n !== undefined && at(0, 1));
    if (!w || !n) return !w && !n;
    return !isRest(n) && coversArgument(w, n) && at(1, 1);
  });
}

function overlap(a: ArgumentPattern, b: ArgumentPattern): boolean {
  return table(a, b, (x, y, at) => {
    if (!x && !y) return true;
    if (x && isRest(x)) return at(1, 0) || (y !== undefined && at(0, 1));
    if (y && isRest(y)) return at(0, 1) || (x !== undefined && at(1, 0));
    return x !== undefined && y !== undefined && overlapArgument(x, y) && at(1, 1);
  });
}

function meetArgument(a: Argument, b: Argument): Argument | null {
  if (coversText(a, b)) return beginsWithValue(a) ? noOption(b) : b;
  if (coversText(b, a)) return beginsWithValue(b) ? noOption(a) : a;
  return null;
}

/** The argument without what looks like an option; null when nothing is left. */
function noOption(argument: Argument): Argument | null {
  const [first, ...rest] = argument;
  if (first && "slot" in first) return [{ slot: "value" }, ...rest];
  return first && looksLikeOption(first.literal) ? null : argument;
}

function coversArgument(wide: Argument, narrow: Argument): boolean {
  if (!coversText(wide, narrow)) return false;
  if (!beginsWithValue(wide) || beginsWithValue(narrow)) return true;
  const first = narrow[0];
  return first === undefined || ("literal" in first && !looksLikeOption(first.literal));
}

function coversText(wide: Argument, narrow: Argument): boolean {
  const [text] = wide;
  // Most arguments are plain words, which need no table.
  if (wide.length === 1 && text && "literal" in text) {
    const other = narrow[0];
    spend(text.literal.length);
    return narrow.length === 1 && other !== undefined && "literal" in other && other.literal === text.literal;
  }
  return table(characters(wide), characters(narrow), (w, n, at) => {
    if (w === null) return at(1, 0) || (n !== undefined && at(0, 1));
    return w === n && (w === undefined || at(1, 1));
  });
}

function overlapArgument(a: Argument, b: Argument): boolean {
  if (beginsWithValue(a) && noOption(b) === null) return false;
  if (beginsWithValue(b) && noOption(a) === null) return false;
  return table(characters(a), characters(b), (x, y, at) => {
    if (x === undefined && y === undefined) return true;
    if (x === null) return at(1, 0) || (y !== undefined && at(0, 1));
    if (y === null) return at(0, 1) || (x !== undefined && at(1, 0));
    return x === y && at(1, 1);
  });
}

/** Characters of an argument; null is a slot, which stands for any text. */
function characters(argument: Argument): (string | null)[] {
  return argument.flatMap<string | null>((piece) => ("slot" in piece ? [null] : [...piece.literal]));
}

function isRest(argument: Argument): boolean {
  const first = argument[0];
  return first !== undefined && "slot" in first && first.slot === "rest";
}

function isAny(argument: Argument): boolean {
  return argument.every((piece) => "slot" in piece && piece.slot === "any") && argument.length > 0;
}

function beginsWithValue(argument: Argument): boolean {
  const first = argument[0];
  return first !== undefined && "slot" in first && first.slot === "value";
}

type Step<T> = (a: T | undefined, b: T | undefined, at: (da: 0 | 1, db: 0 | 1) => boolean) => boolean;

/** Answers `step` for the starts of two lists, from the answers for their ends, in time of the lengths' product. */
function table<T>(a: readonly T[], b: readonly T[], step: Step<T>): boolean {
  spend((a.length + 1) * (b.length + 1));
  let below: boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = new Array<boolean>(b.length + 1).fill(false);
    for (let j = b.length; j >= 0; j--) {
      row[j] = step(a[i], b[j], (da, db) => (da === 1 ? below[j + db] : row[j + db]) ?? false);
    }
    below = row;
  }
  return below[0] ?? false;
}
