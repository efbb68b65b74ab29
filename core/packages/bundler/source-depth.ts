/** Words after which a slash begins a regular expression. */
const wordsBeforeRegexp =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|instanceof|new|throw|yield|await)$/;
const signsBeforeRegexp = "(,=:[!&|?{};+-*%~^<>}";

/**
 * Finds the first bracket that is nested deeper than `most`; null when there is none. Strings, templates, comments and
 * regular expressions do not count. It takes one look at each character and no stack: the parsers that come after it
 * call themselves for each bracket.
 */
export function findTooDeep(text: string, most: number): number | null {
  return new DepthScan(text, most).find();
}

class DepthScan {
  readonly #text: string;
  readonly #most: number;
  #at = 0;
  #depth = 0;
  /** Depths at which a template goes on. */
  readonly #templates: number[] = [];
  /** Offset of the last character that means something. */
  #last = -1;
  /** Before this no regular expression ends: without it a line of slashes would be read once for each of them. */
  #noRegexpBefore = -1;

  constructor(text: string, most: number) {
    this.#text = text;
    this.#most = most;
  }

  find(): number | null {
    const text = this.#text;
    for (; this.#at < text.length; this.#at++) {
      const sign = text[this.#at]!;
      if (sign <= " ") continue;
      if (sign === "/" && this.#skipSlash()) continue;
      if (sign === '"' || sign === "'") this.#skipString(sign);
      else if (sign === "`") this.#skipTemplate();
      else if (sign === "(" || sign === "[" || sign === "{") this.#depth++;
      else if (sign === ")" || sign === "]" || sign === "}") this.#close(sign);
      if (this.#depth > this.#most) return this.#at;
      this.#last = this.#at;
    }
    return null;
  }

  #close(sign: string): void {
    const inTemplate = sign === "}" && this.#templates.at(-1) === this.#depth;
    if (this.#depth > 0) this.#depth--;
    if (!inTemplate) return;
    this.#templates.pop();
    this.#skipTemplate();
  }

  /** To the closing quote, or the end of the line: what is no string after all costs one line. */
  #skipString(quote: string): void {
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const sign = this.#text[at]!;
      if (sign === "\\") at++;
      else if (sign === quote || sign === "\n") {
        this.#at = at;
        return;
      }
    }
    this.#at = this.#text.length;
  }

  /** To the closing backtick, or into its next `${`. */
  #skipTemplate(): void {
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const sign = this.#text[at]!;
      if (sign === "\\") at++;
      else if (sign === "$" && this.#text[at + 1] === "{") {
        this.#templates.push(++this.#depth);
        this.#at = at + 1;
        return;
      } else if (sign === "`") {
        this.#at = at;
        return;
      }
    }
    this.#at = this.#text.length;
  }

  /** A comment, or a regular expression where one may stand; false for a division. */
  #skipSlash(): boolean {
    const next = this.#text[this.#at + 1];
    if (next === "/" || next === "*") {
      const end = this.#text.indexOf(next === "/" ? "\n" : "*/", this.#at + 2);
      this.#at = end === -1 ? this.#text.length : next === "/" ? end : end + 1;
      return true;
    }
    if (!this.#regexpMayStand()) return false;
    const end = this.#endOfRegexp();
    if (end === null) return false;
    this.#at = this.#last = end;
    return true;
  }

  #regexpMayStand(): boolean {
    if (this.#last === -1 || signsBeforeRegexp.includes(this.#text[this.#last]!)) return true;
    return wordsBeforeRegexp.test(this.#text.slice(Math.max(0, this.#last - 12), this.#last + 1));
  }

  #endOfRegexp(): number | null {
    if (this.#at < this.#noRegexpBefore) return null;
    let inClass = false;
    let end = this.#text.length;
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const sign = this.#text[at]!;
      if (sign === "\n") {
        end = at;
        break;
      }
      if (sign === "\\") at++;
      else if (sign === "[") inClass = true;
      else if (sign === "]") inClass = false;
      else if (sign === "/" && !inClass) return at;
    }
    this.#noRegexpBefore = end;
    return null;
  }
}
