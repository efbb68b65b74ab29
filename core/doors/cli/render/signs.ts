/**
 * Signs that the command line prints, and the words that plain output has for them: for people whose screen reader says
 * the name of a shape, or nothing. A sign without a word only repeats the text behind it.
 */
const signs: Readonly<Record<string, string>> = {
  "✔": "ok:",
  "✘": "failed:",
  "✗": "problem:",
  "→": "do:",
  "←": "result:",
  "▸": "runs:",
  "☐": "to do:",
  "◐": "now:",
  "☑": "done:",
  "■": "",
  "✓": "",
  "●": "",
  "▲": "",
  "▹": "",
  "↻": "",
  "↪": "",
  "↶": "",
  "»": "",
  "…": "",
  "│": "",
  "─": "",
  "▰": "",
  "▱": "",
  "▓": "",
  "░": "",
};

/** Writes the sign at the beginning of a line or cell as its word, and leaves bars and rules out. */
export function inWords(text: string): string {
  return text.replace(drawn, "").replace(
    leading,
    (_, indent: string, sign: string) => `${indent}${signs[sign]}${signs[sign] === "" ? "" : " "}`,
  );
}

const drawn = /[─▰▱▓░]+ */g;
const leading = new RegExp(`^( *)(${Object.keys(signs).join("|")})(?: |$)`);
