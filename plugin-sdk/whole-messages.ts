import { isFields, parseJson, withoutControls } from "./json-fields.ts";

/** UTF-16 units and lines of a message that is spread over several lines. */
const mostUnits = 1024 * 1024;
const mostLines = 10_000;
/** The beginning of a line of JSON: a string, the end of an object or list, a value. */
const goesOn = /^\s*(?:["{}[\]\d-]|true|false|null)/;

/**
 * Makes one line of each message in JSON, for programs that print one spread over several lines, or two in one line. All
 * other lines pass as they are.
 */
export class WholeMessages {
  #held: string[] = [];
  #length = 0;
  #depth = 0;

  /** Takes lines without their ends, and returns those that are whole. */
  take(lines: string[]): string[] {
    if (this.#held.length === 0 && !lines.some(isOdd)) return lines;
    return lines.flatMap((line) => this.#line(line));
  }

  /** Returns what is left when no line follows: part of a message. */
  end(): string[] {
    const held = this.#held;
    this.#held = [];
    this.#length = this.#depth = 0;
    return held.length === 0 ? [] : [held.join("\n")];
  }

  #line(line: string): string[] {
    if (this.#held.length > 0) {
      // A message of its own: the one before was cut.
      const isAnother = line.startsWith('{"') && depthOf(line) === 0;
      if (isAnother || !goesOn.test(line)) return [...this.end(), ...this.#line(line)];
      this.#hold(line);
      return this.#depth <= 0 || this.#length > mostUnits || this.#held.length > mostLines ? this.end() : [];
    }
    if (begins(line)) {
      this.#hold(line);
      return this.#depth > 0 ? [] : this.end();
    }
    return isGlued(line) ? parted(line) : [line];
  }

  #hold(line: string): void {
    this.#held.push(line);
    this.#length += line.length;
    this.#depth += depthOf(line);
  }
}

function isOdd(line: string): boolean {
  return isGlued(line) || begins(line);
}

function isGlued(line: string): boolean {
  return line.includes('}{"');
}

/** Whether a line is the beginning of a message that goes on in the next one. */
function begins(line: string): boolean {
  return /[{[,]\s*$/.test(line.slice(-16)) && /^\{\s*(?:$|")/.test(withoutControls(line.slice(0, 4096)));
}

/** How many objects and lists a line opens and does not close; a string ends in its line. */
function depthOf(line: string): number {
  let depth = 0;
  eachSign(line, (by) => depth += by);
  return depth;
}

/** Tells each bracket of a line that is in no string: 1 opens and -1 closes. In one pass, also over strings without an end. */
function eachSign(line: string, take: (by: 1 | -1, at: number) => void): void {
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === "{" || sign === "[") take(1, at);
    else if (sign === "}" || sign === "]") take(-1, at);
    else if (sign === '"') { while (++at < line.length && line[at] !== '"') if (line[at] === "\\") at++; }
  }
}

/** The messages that stand in a line one behind the other. */
function parted(line: string): string[] {
  const parts: string[] = [];
  let [from, depth] = [0, 0];
  eachSign(line, (by, at) => {
    depth += by;
    if (depth !== 0 || line[at] !== "}" || line[at + 1] !== "{") return;
    parts.push(line.slice(from, at + 1));
    from = at + 1;
  });
  parts.push(line.slice(from));
  // Else a message was cut, and what looks like another one may stand in its text.
  return parts.every((part) => isFields(parseJson(part))) ? parts : [line];
}
