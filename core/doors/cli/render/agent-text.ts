import { cleanText } from "../../../ground/log/terminal-text.ts";

// Enough for the widest terminal; the rest would never be seen.
const lineCharacters = 4000;

/** Makes an agent's text safe for the terminal; keeps line ends and tabs. */
export function safeText(text: string): string {
  return cleanText(text.replaceAll("\r\n", "\n").replace(/\r(?!$)/g, "\n").replaceAll("\r", ""), { keepLines: true });
}

/** Makes an agent's text safe for the terminal, on one line. */
export function safeLine(text: string): string {
  return cleanText(text.slice(0, lineCharacters).replace(/[\r\n\t]+/g, " "));
}
