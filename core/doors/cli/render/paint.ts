import type { Outcome } from "../../../../plugin-sdk/result.ts";

/** How a piece of text looks. */
export type Tone = "plain" | "dim" | "bold" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Colours a text, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

// Select Graphic Rendition: the code that switches a tone on, and the one that switches only it off (ECMA-48, 8.3.117).
const codes: { readonly [T in Tone]: readonly [number, number] | null } = {
  plain: null,
  dim: [2, 22],
  bold: [1, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

/** Tones that tell adapters apart, in order of appearance. */
export const adapterTones: readonly Tone[] = ["cyan", "magenta", "yellow", "blue", "green"];

/** Mark and tone of each outcome. */
export const outcomeLooks: { readonly [O in Outcome]: readonly [mark: string, tone: Tone] } = {
  completed: ["✔", "green"],
  blocked: ["■", "yellow"],
  error: ["✘", "red"],
};

/** Creates a {@link Paint} that colours, or one that does nothing. */
export function createPaint(colours: boolean): Paint {
  if (!colours) return (_tone, text) => text;
  return (tone, text) => {
    const code = codes[tone];
    return code === null || text === "" ? text : `\u001b[${code[0]}m${text}\u001b[${code[1]}m`;
  };
}
