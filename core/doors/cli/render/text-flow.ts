import { takeColumns, textWidth } from "./text-width.ts";

/** Wraps text that comes in pieces, which may end anywhere: holds a word back until it is whole. */
export class TextFlow {
  readonly #width: number;
  #column = 0;
  #word = "";
  #empty = true;

  /** @param width columns of a line, at least 1 */
  constructor(width: number) {
    this.#width = Math.max(1, width);
  }

  /** Returns the wrapped text that is complete so far. Drops line ends before the first word. */
  push(text: string): string {
    let out = "";
    for (const character of text) {
      if (character === "\r") continue;
      if (character === "\n") {
        out += this.#endWord();
        if (!this.#empty) out += "\n";
        this.#column = 0;
      } else if (character === " " || character === "\t") {
        out += this.#endWord();
        if (this.#column > 0 && this.#column < this.#width) {
          out += " ";
          this.#column += 1;
        } else if (this.#column === 0) out += this.#indent(character);
      } else {
        const longer = this.#word + character;
        if (textWidth(longer) > this.#width) {
          // A piece may end inside an emoji, but a line may not.
          this.#word = takeColumns(longer, this.#width) || this.#word;
          const rest = longer.slice(this.#word.length);
          out += this.#endWord();
          this.#word = rest;
        } else this.#word = longer;
      }
    }
    return out;
  }

  /** Returns the text that was held back, with the end of the last line. */
  end(): string {
    const out = this.#endWord();
    const open = this.#column > 0;
    this.#column = 0;
    this.#empty = true;
    return open ? `${out}\n` : out;
  }

  #endWord(): string {
    if (this.#word === "") return "";
    const word = this.#word;
    const width = textWidth(word);
    this.#word = "";
    this.#empty = false;
    if (this.#column > 0 && this.#column + width > this.#width) {
      this.#column = width;
      return `\n${word}`;
    }
    this.#column += width;
    return word;
  }

  // Keep blanks at the start of a line: they are the text's own indent, as in code.
  #indent(blank: string): string {
    if (this.#empty) return "";
    const columns = Math.min(blank === "\t" ? 2 : 1, this.#width - 1);
    this.#column += columns;
    return " ".repeat(columns);
  }
}
