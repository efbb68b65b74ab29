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

/** Intersections of two patterns can be many; more than this are left out, which only narrows. */
const maxPatterns = 64;

/** Compares sets of argument patterns, and bounds all its comparisons together. */
export class PatternComparison {
  #spent = 0;

  /**
   * Returns the argument lists that both sets allow, again as patterns. Exact for whole arguments; where two arguments
   * overlap and neither is within the other, that overlap is left out, so the answer is never wider.
   * @throws {BulkheadError} `invalid_manifest` for a line that is no pattern, and for patterns that take too long
   */
  meet(left: readonly string[], right: readonly string[]): string[] {
    const [ours, theirs] = [byForm(left), byForm(right)];
    const found = [...ours].filter(([form]) => theirs.has(form)).map(([, pattern]) => pattern);
    // A pattern of both sides is met whole, and all that it shares with others is within it.
    const [mine, yours] = [ownOf(ours, theirs), ownOf(theirs, ours)];
    for (const a of mine) {
      for (const b of yours) found.push(...this.#meet(a, b));
    }
    return this.#narrowest(found).map(formatArgumentPattern);
  }

  /**
   * Returns the patterns that share no argument list with a denied one. A pattern that only partly overlaps goes as
   * well, because what would be left of it cannot be written as patterns.
   * @throws {BulkheadError} as {@link meet}
   */
  without(patterns: readonly string[], denied: readonly string[]): string[] {
    const taken = denied.map(canonical);
    return patterns.filter((line) => !taken.some((pattern) => this.#overlap(canonical(line), pattern)));
  }

  /**
   * Whether the second set of patterns allows nothing that the first does not.
   * @throws {BulkheadError} as {@link meet}
   */
  covers(wide: readonly string[], narrow: readonly string[]): boolean {
    const all = wide.map(canonical);
    return narrow.every((line) => all.some((pattern) => this.#covers(pattern, canonical(line))));
  }

  #spend(steps: number): void {
    // Each comparison costs something, however short it is.
    this.#spent += 16 + steps;
    if (this.#spent <= maxSteps) return;
    throw new BulkheadError("invalid_manifest", "Cannot compare argument patterns: they are too long or too many.", {
      hint: "Write fewer and shorter patterns, with fewer {...} in each.",
    });
  }

  #meet(a: ArgumentPattern, b: ArgumentPattern): ArgumentPattern[] {
    const known = new Map<number, ArgumentPattern[]>();
    // Caches the meet of both tails per pair of positions: many ways lead to one pair.
    const from = (i: number, j: number): ArgumentPattern[] => {
      const key = i * (b.length + 1) + j;
      const found = known.get(key) ?? this.#meetFrom(a[i], b[j], (di, dj) => from(i + di, j + dj));
      known.set(key, found);
      return found;
    };
    return from(0, 0);
  }

  #meetFrom(
    headA: Argument | undefined,
    headB: Argument | undefined,
    rest: (di: 0 | 1, dj: 0 | 1) => ArgumentPattern[],
  ): ArgumentPattern[] {
    if (!headA && !headB) return [[]];
    if (headA && headB && isRest(headA) && isRest(headB)) {
      return this.#narrowest(this.#after(headA, [...rest(1, 0), ...rest(0, 1)]));
    }
    if (headA && isRest(headA)) {
      return this.#narrowest([...rest(1, 0), ...(headB ? this.#after(headB, rest(0, 1)) : [])]);
    }
    if (headB && isRest(headB)) {
      return this.#narrowest([...rest(0, 1), ...(headA ? this.#after(headA, rest(1, 0)) : [])]);
    }
    if (!headA || !headB) return [];
    const head = this.#meetArgument(headA, headB);
    return head ? this.#after(head, rest(1, 1)) : [];
  }

  #after(head: Argument, tails: readonly ArgumentPattern[]): ArgumentPattern[] {
    return tails.map((tail) => {
      this.#spend(tail.length);
      return canonicalPattern([head, ...tail]);
    });
  }

  /** Sorted, without those that another one covers. */
  #narrowest(patterns: readonly ArgumentPattern[]): ArgumentPattern[] {
    const byText = new Map(patterns.map((pattern) => [formatArgumentPattern(pattern), pattern]));
    const unique = [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pattern]) => pattern);
    const kept: ArgumentPattern[] = [];
    for (const [index, pattern] of unique.entries()) {
      const covered = unique.some((other, at) =>
        at !== index && this.#covers(other, pattern) && (at < index || !this.#covers(pattern, other))
      );
      if (!covered) kept.push(pattern);
    }
    return kept.slice(0, maxPatterns);
  }

  #covers(wide: ArgumentPattern, narrow: ArgumentPattern): boolean {
    this.#spend(0);
    // Without {...} a pattern allows lists of one length alone.
    if (wide.length !== narrow.length && !wide.some(isRest)) return false;
    return this.#table(wide, narrow, (w, n, at) => {
      if (w && isRest(w)) return at(1, 0) || (n !== undefined && at(0, 1));
      if (!w || !n) return !w && !n;
      // Comparing the arguments costs more than looking up their ends, which mostly decide.
      return !isRest(n) && at(1, 1) && this.#coversArgument(w, n);
    });
  }

  #overlap(a: ArgumentPattern, b: ArgumentPattern): boolean {
    return this.#table(a, b, (x, y, at) => {
      if (!x && !y) return true;
      if (x && isRest(x)) return at(1, 0) || (y !== undefined && at(0, 1));
      if (y && isRest(y)) return at(0, 1) || (x !== undefined && at(1, 0));
      return x !== undefined && y !== undefined && at(1, 1) && this.#overlapArgument(x, y);
    });
  }

  #meetArgument(a: Argument, b: Argument): Argument | null {
    if (this.#coversText(a, b)) return beginsWithValue(a) ? noOption(b) : b;
    if (this.#coversText(b, a)) return beginsWithValue(b) ? noOption(a) : a;
    return null;
  }

  #coversArgument(wide: Argument, narrow: Argument): boolean {
    if (!this.#coversText(wide, narrow)) return false;
    if (!beginsWithValue(wide) || beginsWithValue(narrow)) return true;
    const first = narrow[0];
    return first === undefined || ("literal" in first && !looksLikeOption(first.literal));
  }

  #coversText(wide: Argument, narrow: Argument): boolean {
    const [text] = wide;
    // Most arguments are plain words, which need no table.
    if (wide.length === 1 && text && "literal" in text) {
      const other = narrow[0];
      this.#spend(text.literal.length);
      return narrow.length === 1 && other !== undefined && "literal" in other && other.literal === text.literal;
    }
    return this.#table(characters(wide), characters(narrow), (w, n, at) => {
      if (w === null) return at(1, 0) || (n !== undefined && at(0, 1));
      return w === n && (w === undefined || at(1, 1));
    });
  }

  #overlapArgument(a: Argument, b: Argument): boolean {
    if (beginsWithValue(a) && noOption(b) === null) return false;
    if (beginsWithValue(b) && noOption(a) === null) return false;
    return this.#table(characters(a), characters(b), (x, y, at) => {
      if (x === undefined && y === undefined) return true;
      if (x === null) return at(1, 0) || (y !== undefined && at(0, 1));
      if (y === null) return at(0, 1) || (x !== undefined && at(1, 0));
      return x === y && at(1, 1);
    });
  }

  /** Answers `step` for the starts of two lists, from the answers for their ends, in time of the lengths' product. */
  #table<T>(a: readonly T[], b: readonly T[], step: Step<T>): boolean {
    this.#spend((a.length + 1) * (b.length + 1));
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
}

/** `{...} {*}` and `{*} {...}` allow the same, as do `{...} {...}` and `{...}`: one form for each. */
function canonical(line: string): ArgumentPattern {
  return canonicalPattern(parseArgumentPattern(line));
}

/** Returns the patterns by their one form. */
function byForm(lines: readonly string[]): Map<string, ArgumentPattern> {
  return new Map(lines.map(canonical).map((pattern) => [formatArgumentPattern(pattern), pattern]));
}

function ownOf(
  patterns: ReadonlyMap<string, ArgumentPattern>,
  others: ReadonlyMap<string, ArgumentPattern>,
): ArgumentPattern[] {
  return [...patterns].filter(([form]) => !others.has(form)).map(([, pattern]) => pattern);
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

/** The argument without what looks like an option; null when nothing is left. */
function noOption(argument: Argument): Argument | null {
  const [first, ...rest] = argument;
  if (first && "slot" in first) return [{ slot: "value" }, ...rest];
  return first && looksLikeOption(first.literal) ? null : argument;
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
