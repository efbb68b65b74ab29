import { cleanText } from "../log/terminal-text.ts";

/** Returns the command line that grants a permission, safe to paste into a shell. */
export function grantCommand(pluginId: string, permission: string, { target }: { target: string }): string {
  return grantsCommand(pluginId, [{ permission, target }]);
}

/** Returns the command line that takes back a grant or a denial, safe to paste into a shell. */
export function revokeCommand(pluginId: string, permission: string, { target }: { target: string }): string {
  return grantCommand(pluginId, permission, { target }).replace("grant", "revoke");
}

/** Returns the command line that grants several permissions to one plugin. */
export function grantsCommand(pluginId: string, grants: readonly { permission: string; target: string }[]): string {
  const words = grants.map(({ permission, target }) =>
    permission === "kv" ? "kv" : `${permission}:${cleanText(target)}`
  );
  return ["bulkhead plugin grant", pluginId, ...words.map(quoteWord)].join(" ");
}

/**
 * Returns the target that grants a row of a plugin's permissions, and no more of its program than the row says: `git push`
 * for a program by its name with arguments. A program's variables, its hidden arguments and a path come with the program.
 */
export function grantTarget(
  { permission, target, binary = target }: { permission: string; target: string; binary?: string },
): string {
  if (permission === "secrets") return target.split(" ")[0] ?? target;
  const isExact = permission === "run" && !target.includes("(hidden)") && readRunTarget(target)?.binary === binary;
  return isExact ? target : binary;
}

/** Reads `git push` as a program and its arguments; null for a program alone, and for a path, which may hold blanks. */
export function readRunTarget(target: string): { binary: string; args: string[] } | null {
  const [, binary, line] = /^(@runtime|[^\s/\\@.-][^\s/\\]*)[ \t]+(\S.*)$/s.exec(target) ?? [];
  return binary === undefined || line === undefined ? null : { binary, args: [line] };
}

/** Writes the target of a grant as the entry of a list in the host manifest. */
export function grantEntry(permission: string, target: string): string | { binary: string; args: string[] } {
  return permission === "run" ? readRunTarget(target) ?? target : target;
}

/** Quotes a word for a shell where necessary: an agent may have chosen it. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Parses such a command line into its grant; null for any other text. */
export function readGrantCommand(command: string): { pluginId: string; word: string } | null {
  const [, pluginId, word] = /^bulkhead plugin grant ([a-z0-9-]+) (\S+|'[^]*')$/.exec(command) ?? [];
  if (pluginId === undefined || word === undefined) return null;
  if (!word.startsWith("'")) return { pluginId, word };
  return { pluginId, word: word.slice(1, -1).replaceAll(`'\\''`, "'") };
}
