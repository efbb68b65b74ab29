import { cleanText } from "../../../ground/log/terminal-text.ts";

// Enough for the widest terminal; the rest would never be seen.
const lineCharacters = 4000;

// Colours and weights alone: a program's words stay whole without them. Any other sequence is shown as it is.
// deno-lint-ignore no-control-regex
const colours = /\u001b\[[0-9;:]*m/g;

/** Leaves out the colours in which a tool wrote. Never for what a person decides about: that is shown to the last byte. */
export function withoutColours(text: string): string {
  return text.replace(colours, "");
}

/** Makes an agent's text safe for the terminal; keeps line ends and tabs. */
export function safeText(text: string): string {
  return cleanText(text.replaceAll("\r\n", "\n").replace(/\r(?!$)/g, "\n").replaceAll("\r", ""), { keepLines: true });
}

/** Makes an agent's text safe for the terminal, on one line. */
export function safeLine(text: string): string {
  return cleanText(text.slice(0, lineCharacters).replace(/[\r\n\t]+/g, " "));
}
