import { lineFault, splitWords } from "./words.ts";

/**
 * A placeholder of an argument pattern: `value` (`{}`) and `any` (`{*}`) stand for one argument or a part of one,
 * `rest` (`{...}`) for any number of arguments.
 */
export type ArgumentSlot = "value" | "any" | "rest";

/** A piece of one argument of a pattern. */
export type ArgumentPiece = { literal: string } | { slot: ArgumentSlot };

/** One parsed line of `args` in a run permission: the pieces of each argument, in order. */
export type ArgumentPattern = readonly (readonly ArgumentPiece[])[];

const slots: Readonly<Record<string, ArgumentSlot>> = { "": "value", "*": "any", "...": "rest" };

/**
 * Parses one line of `args` in a run permission. `RunPermission.args` documents its grammar.
 * @throws {BulkheadError} `invalid_manifest` with the position, from 1
 */
export function parseArgumentPattern(line: string): ArgumentPattern {
  const known = parsed.get(line);
  if (known !== undefined) return known;
  const pattern = parse(line);
  if (parsed.size >= mostKept) parsed.clear();
  if (line.length <= longestKept) parsed.set(line, pattern);
  return pattern;
}

/** Patterns that were parsed: each decision about a program asks for many of them. */
const parsed = new Map<string, ArgumentPattern>();
const [mostKept, longestKept] = [1000, 1000];

function parse(line: string): ArgumentPattern {
  const name = "argument pattern";
  return splitWords(line, { name }).map((word) => {
    if ("sign" in word) throw lineFault(name, `"${word.sign}" has no meaning`, { at: word.at });
    return word.pieces.map((piece): ArgumentPiece => {
      if ("literal" in piece) return piece;
      const slot = Object.hasOwn(slots, piece.slot) ? slots[piece.slot] : undefined;
      if (!slot) {
        throw lineFault(name, `unknown placeholder {${piece.slot}}`, {
          at: piece.at,
          hint: "The placeholders are {}, {*} and {...}; write \\{ for a brace as such.",
        });
      }
      if (slot === "rest" && word.pieces.length > 1) {
        throw lineFault(name, '"{...}" is only a part of an argument', { at: piece.at });
      }
      return { slot };
    });
  });
}

/** Checks whether a pattern allows exactly this argument list. Time grows at most with the product of both lengths. */
export function matchesArguments(pattern: ArgumentPattern, args: readonly string[]): boolean {
  let reachable = new Set([0]);
  for (const argument of pattern) {
    const next = new Set<number>();
    if (isRest(argument)) {
      for (let at = Math.min(...reachable); at <= args.length; at++) next.add(at);
    } else {
      for (const at of reachable) {
        const value = args[at];
        if (value !== undefined && matchesArgument(argument, value)) next.add(at + 1);
      }
    }
    if (next.size === 0) return false;
    reachable = next;
  }
  return reachable.has(args.length);
}

/** Writes a pattern so that {@link parseArgumentPattern} reads the same pattern again. */
export function formatArgumentPattern(pattern: ArgumentPattern): string {
  return pattern.map(formatArgument).join(" ");
}

function isRest(argument: readonly ArgumentPiece[]): boolean {
  const first = argument[0];
  return first !== undefined && "slot" in first && first.slot === "rest";
}

function matchesArgument(pieces: readonly ArgumentPiece[], value: string): boolean {
  const first = pieces[0];
  // An argument that begins with a value must not become an option or name a file of options.
  if (first && "slot" in first && first.slot === "value" && looksLikeOption(value)) return false;
  const last = pieces.at(-1);
  if (!last) return value === "";
  const head = first && "literal" in first ? first.literal : "";
  const tail = "literal" in last ? last.literal : "";
  if (pieces.length === 1 && "literal" in last) return value === tail;
  if (value.length < head.length + tail.length || !value.startsWith(head) || !value.endsWith(tail)) return false;
  return containsInOrder(pieces.slice(1, -1), value.slice(head.length, value.length - tail.length));
}

/** Searches without backtracking: the first place of each literal leaves the most text for the later ones. */
function containsInOrder(pieces: readonly ArgumentPiece[], text: string): boolean {
  let from = 0;
  for (const piece of pieces) {
    if ("slot" in piece) continue;
    const at = text.indexOf(piece.literal, from);
    if (at < 0) return false;
    from = at + piece.literal.length;
  }
  return true;
}

/** Returns true for a text that programs read as an option, or as the name of a file of options. */
export function looksLikeOption(value: string): boolean {
  return value.startsWith("-") || value.startsWith("@");
}

function formatArgument(pieces: readonly ArgumentPiece[]): string {
  const text = pieces.map((piece) => {
    if ("slot" in piece) return { value: "{}", any: "{*}", rest: "{...}" }[piece.slot];
    return piece.literal.replace(/[\\"'{}]/g, "\\$&");
  }).join("");
  return text === "" || /[ \t\r\n]/.test(text) ? `"${text}"` : text;
}
