import { cleanText } from "../../../ground/log/terminal-text.ts";

// Enough for the widest terminal; what comes after is never seen.
const lineCharacters = 4000;

/** Text from an agent, safe for the terminal, with its line ends and tabs. */
export function safeText(text: string): string {
  return cleanText(text.replaceAll("\r\n", "\n").replace(/\r(?!$)/g, "\n").replaceAll("\r", ""), { keepLines: true });
}

/** Text from an agent, safe for the terminal, on one line. */
export function safeLine(text: string): string {
  return cleanText(text.slice(0, lineCharacters).replace(/[\r\n\t]+/g, " "));
}
