import type { Outcome } from "../../../../plugin-sdk/result.ts";
import type { Colours, Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { inWords } from "./signs.ts";

/** How a piece of text looks. Text of others is `said`, `thought` or `named`: it has no signs of ours. */
export type Tone =
  | "plain"
  | "said"
  | "thought"
  | "named"
  | "dim"
  | "bold"
  | "red"
  | "green"
  | "yellow"
  | "blue"
  | "magenta"
  | "cyan";

/** Colours a text, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

// Select Graphic Rendition: the code that switches a tone on, and the one that switches only it off (ECMA-48, 8.3.117).
const codes: { readonly [T in Tone]: readonly [number, number] | null } = {
  plain: null,
  said: null,
  thought: [2, 22],
  named: [1, 22],
  dim: [2, 22],
  bold: [1, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

const ofOthers: ReadonlySet<Tone> = new Set(["said", "thought", "named"]);

/** Tones that tell adapters apart, in order of appearance. */
export const adapterTones: readonly Tone[] = ["cyan", "magenta", "yellow", "blue", "green"];

/** Mark and tone of each outcome. */
export const outcomeLooks: { readonly [O in Outcome]: readonly [mark: string, tone: Tone] } = {
  completed: ["✔", "green"],
  blocked: ["■", "yellow"],
  error: ["✘", "red"],
};

/** Whether words stand for signs, and nothing moves. */
export function isPlain({ colours }: Pick<Terminal, "colours">): boolean {
  return colours.stdout === "plain";
}

/** Creates a {@link Paint} that colours, one that writes words for signs, or one that does nothing. */
export function createPaint(colours: Colours): Paint {
  if (colours === "plain") return (tone, text) => ofOthers.has(tone) ? text : inWords(text);
  if (!colours) return (_tone, text) => text;
  return (tone, text) => {
    const code = codes[tone];
    return code === null || text === "" ? text : `\u001b[${code[0]}m${text}\u001b[${code[1]}m`;
  };
}
