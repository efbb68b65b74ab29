/** Short forms of the first word of a command line, and what they stand for. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  "ls": ["session", "list"],
  "ps": ["session", "list", "--state", "running"],
  "version": ["--version"],
  "-v": ["--version"],
};

/** Spells out a short form at the beginning of a command line. */
export function spelledOut(args: readonly string[]): readonly string[] {
  const [first = "", ...rest] = args;
  const alias = Object.hasOwn(aliases, first) ? aliases[first] : undefined;
  return alias === undefined ? args : [...alias, ...rest];
}
