/** A run of text with one look. */
interface StyledRun {
  text: string;
  /** Classes of the style sheet; empty for the plain look. */
  look: string;
}

// Colours and weights are shown; any other sequence would move a cursor or set a title, and is left out.
const sequence =
  // deno-lint-ignore no-control-regex
  /\u001b(?:\[([0-9;:]*)m|\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]{0,4096}(?:\u0007|\u001b\\)|[()#][0-9A-Za-z]|[=>78DEHMNOZc])/g;

/** Splits a terminal's text by its colours. */
export function ansiRuns(text: string): StyledRun[] {
  if (!text.includes("\u001b")) return [{ text, look: "" }];
  const runs: StyledRun[] = [];
  const look = new Look();
  let at = 0;
  for (const match of text.matchAll(sequence)) {
    if (match.index > at) runs.push({ text: text.slice(at, match.index), look: look.classes() });
    if (match[1] !== undefined) look.take(match[1]);
    at = match.index + match[0].length;
  }
  if (at < text.length) runs.push({ text: text.slice(at), look: look.classes() });
  return runs;
}

const weights = new Map([[1, "bold"], [2, "faint"], [3, "italic"], [4, "underline"], [9, "struck"]]);
const ends = new Map([[22, ["bold", "faint"]], [23, ["italic"]], [24, ["underline"]], [29, ["struck"]]]);

class Look {
  #set = new Set<string>();
  #colour: number | null = null;
  #inverse = false;

  take(parameters: string): void {
    // A number with its own parts, as in 4:3 or 38:2::255:0:0, is one style: only the number itself is taken.
    const numbers = parameters.split(";").map((one) => one.includes(":") ? ofParts(one) : [Number(one)]).flat();
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index] ?? 0;
      if (number === 38 || number === 48) {
        const wide = numbers[index + 1] === 2;
        if (number === 38) {
          this.#colour = wide ? nearest(numbers.slice(index + 2, index + 5)) : ofPalette(numbers[index + 2] ?? 7);
        }
        index += wide ? 4 : 2;
      } else this.#one(number);
    }
  }

  classes(): string {
    const colour = this.#colour === null ? [] : [`ansi-${this.#colour}`];
    return [...this.#set, ...colour, ...(this.#inverse ? ["inverse"] : [])].join(" ");
  }

  #one(number: number): void {
    if (number === 0) {
      this.#set.clear();
      this.#colour = null;
      this.#inverse = false;
    } else if (number >= 30 && number <= 37) this.#colour = number - 30;
    else if (number >= 90 && number <= 97) this.#colour = number - 90 + 8;
    else if (number === 39) this.#colour = null;
    else if (number === 7 || number === 27) this.#inverse = number === 7;
    else if (weights.has(number)) this.#set.add(weights.get(number) ?? "");
    else for (const name of ends.get(number) ?? []) this.#set.delete(name);
  }
}

/** The codes of a style whose parts are divided by colons; a colour space that is named is left out. */
function ofParts(style: string): number[] {
  const [code = 0, kind, ...parts] = style.split(":").map(Number);
  if (code !== 38 && code !== 48) return [code];
  return kind === 2 ? [code, 2, ...parts.slice(-3)] : [code, 5, parts[0] ?? 7];
}

/** One of the sixteen colours that a style sheet can give enough contrast on light and dark. */
function ofPalette(number: number): number {
  if (number < 16) return number;
  if (number > 231) return number > 243 ? 15 : 8;
  const place = number - 16;
  return nearest([Math.floor(place / 36) * 51, Math.floor(place / 6) % 6 * 51, place % 6 * 51]);
}

function nearest([red = 0, green = 0, blue = 0]: readonly number[]): number {
  const most = Math.max(red, green, blue);
  if (most < 50) return 8;
  const bit = (value: number): number => value > most * 0.6 ? 1 : 0;
  return bit(red) + 2 * bit(green) + 4 * bit(blue) + (most > 200 ? 8 : 0);
}
