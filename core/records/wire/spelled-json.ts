import type { Breath } from "../../ground/platform/engine/breath.ts";

/** A value of JSON as it was written: numbers have their digits, and objects all their fields, in their order. */
export type SpelledJson = string | boolean | null | Digits | Fields | SpelledJson[];

/** A number. */
export class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object; a name may stand there twice. */
export class Fields {
  readonly entries: [name: string, value: SpelledJson][] = [];
}

/** Nesting of a text. */
const maxDepth = 128;

/** Values after which other work may have its turn. */
const valuesInARow = 1000;

const blanks = /[ \t\n\r]*/y;
const word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Reads JSON; undefined for a text that is none, or nested deeper than 128 levels. */
export async function readSpelled(text: string, breath: Breath): Promise<SpelledJson | undefined> {
  const open: (Fields | SpelledJson[])[] = [];
  const reader = new Reader(text);
  for (let count = 1;; count++) {
    if (count % valuesInARow === 0) await breath.take();
    let value = reader.begin();
    if (value === undefined) return undefined;
    if (typeof value === "object" && value !== null && !(value instanceof Digits) && !reader.passes(closing(value))) {
      if (open.push(value) > maxDepth || value instanceof Fields && !reader.beginField(value)) return undefined;
      continue;
    }
    for (;;) {
      const holder = open.at(-1);
      if (holder === undefined) return reader.isAtEnd ? value : undefined;
      if (holder instanceof Fields) holder.entries.at(-1)![1] = value;
      else holder.push(value);
      if (reader.passes(",")) {
        if (holder instanceof Fields && !reader.beginField(holder)) return undefined;
        break;
      }
      if (!reader.passes(closing(holder))) return undefined;
      value = holder;
      open.pop();
    }
  }
}

function closing(holder: Fields | SpelledJson[]): "}" | "]" {
  return holder instanceof Fields ? "}" : "]";
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    this.#passBlanks();
    return this.#at === this.#text.length;
  }

  /** Passes this letter, where it is the next one behind blanks. */
  passes(letter: string): boolean {
    this.#passBlanks();
    if (this.#text[this.#at] !== letter) return false;
    this.#at++;
    return true;
  }

  /** Reads a value, or the beginning of one that holds others; undefined where there is none. */
  begin(): SpelledJson | undefined {
    if (this.passes("{")) return new Fields();
    if (this.passes("[")) return [];
    if (this.#text[this.#at] === '"') return this.#string();
    word.lastIndex = this.#at;
    const [found] = word.exec(this.#text) ?? [];
    if (found === undefined) return undefined;
    this.#at += found.length;
    return found === "null" ? null : found === "true" || found === "false" ? found === "true" : new Digits(found);
  }

  /** Reads the name of a field; false where there is none. */
  beginField(fields: Fields): boolean {
    this.#passBlanks();
    const name = this.#text[this.#at] === '"' ? this.#string() : undefined;
    if (name === undefined || !this.passes(":")) return false;
    fields.entries.push([name, null]);
    return true;
  }

  #string(): string | undefined {
    let end = this.#at;
    do end = this.#text.indexOf('"', end + 1); while (end > 0 && isEscaped(this.#text, end));
    if (end < 0) return undefined;
    const written = this.#text.slice(this.#at, end + 1);
    this.#at = end + 1;
    try {
      return JSON.parse(written) as string;
    } catch {
      return undefined;
    }
  }

  #passBlanks(): void {
    blanks.lastIndex = this.#at;
    blanks.exec(this.#text);
    this.#at = blanks.lastIndex;
  }
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}
