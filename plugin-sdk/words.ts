import { BulkheadError } from "./errors.ts";

/** A piece of a word: literal text, or the text between `{` and `}`. */
export type Piece = { literal: string } | { slot: string; at: number };

/** One word of a command line, or a sign with a meaning for the line's reader. */
export type Word = { pieces: Piece[]; at: number } | { sign: string; at: number };

/** Options of {@link splitWords}. */
interface SplitOptions {
  /** Name of the line in errors, such as `command template`. */
  name: string;
  /** Texts that are signs outside quotes. */
  signs?: readonly string[];
  /** True if `[` at the beginning of a word and the next `]` are signs as well, which enclose words. */
  groups?: boolean;
}

/**
 * Splits a line into words at blanks. Single and double quotes group, a backslash makes the next character literal, and
 * `{…}` is a slot, also inside quotes.
 * @throws {BulkheadError} `invalid_manifest` with the position, from 1, for an unclosed quote or slot
 */
export function splitWords(line: string, options: SplitOptions): Word[] {
  const reader = new LineReader(line, options);
  const words: Word[] = [];
  for (let word = reader.next(); word; word = reader.next()) words.push(word);
  return words;
}

/** Makes the error for a fault at a position of a line, counted from 0; the text counts from 1. */
export function lineFault(name: string, fault: string, where: { at: number; hint?: string }): BulkheadError {
  const position = where.at + 1;
  return new BulkheadError("invalid_manifest", `Cannot read the ${name}: ${fault} at character ${position}.`, {
    hint: where.hint,
    details: { position, fault },
  });
}

class LineReader {
  readonly #line: string;
  readonly #options: SplitOptions;
  #at = 0;
  #inGroup = false;

  constructor(line: string, options: SplitOptions) {
    this.#line = line;
    this.#options = options;
  }

  next(): Word | null {
    while (isBlank(this.#line[this.#at])) this.#at++;
    const at = this.#at;
    if (at >= this.#line.length) return null;
    const sign = this.#bracket() ?? this.#sign();
    if (sign === undefined) return { pieces: this.#readWord(), at };
    this.#at += sign.length;
    return { sign, at };
  }

  /** Returns the bracket here that begins or ends a group. */
  #bracket(): string | undefined {
    const char = this.#line[this.#at];
    if (!this.#options.groups || char !== (this.#inGroup ? "]" : "[")) return undefined;
    this.#inGroup = !this.#inGroup;
    return char;
  }

  #readWord(): Piece[] {
    const pieces: Piece[] = [];
    let literal = "";
    let quote = "";
    let quoteAt = 0;
    for (;;) {
      const char = this.#line[this.#at];
      if (char === undefined || (!quote && (isBlank(char) || this.#endsWord(char)))) break;
      if (char === "{") {
        if (literal) pieces.push({ literal });
        literal = "";
        pieces.push(this.#readSlot());
        continue;
      }
      if (char === "\\") literal += this.#readEscaped();
      else if (quote === char) quote = "";
      else if (!quote && (char === '"' || char === "'")) [quote, quoteAt] = [char, this.#at];
      else literal += char;
      this.#at++;
    }
    if (quote) throw lineFault(this.#options.name, `the quote ${quote} is not closed`, { at: quoteAt });
    // Empty quotes are an empty argument.
    if (literal || pieces.length === 0) pieces.push({ literal });
    return pieces;
  }

  #readEscaped(): string {
    this.#at++;
    const char = this.#line[this.#at];
    if (char !== undefined) return char;
    throw lineFault(this.#options.name, "nothing follows the backslash", { at: this.#at - 1 });
  }

  #readSlot(): Piece {
    const at = this.#at;
    const end = this.#line.indexOf("}", at);
    if (end < 0) {
      throw lineFault(this.#options.name, 'the brace "{" is not closed', {
        at,
        hint: "Write \\{ for a brace as such.",
      });
    }
    this.#at = end + 1;
    return { slot: this.#line.slice(at + 1, end), at };
  }

  #endsWord(char: string): boolean {
    return this.#sign() !== undefined || (this.#inGroup && char === "]");
  }

  #sign(): string | undefined {
    return this.#options.signs?.find((sign) => this.#line.startsWith(sign, this.#at));
  }
}

function isBlank(char: string | undefined): boolean {
  return char === " " || char === "\t" || char === "\n" || char === "\r";
}
