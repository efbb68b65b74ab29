import { cleanText } from "../log/terminal-text.ts";

/**
 * The command line that would grant a permission, safe to paste into a shell: what the adapter named is quoted where a
 * shell would read more into it than a name.
 */
export function grantCommand(pluginId: string, permission: string, { target }: { target: string }): string {
  const word = permission === "kv" ? "kv" : `${permission}:${cleanText(target)}`;
  return `bulkhead plugin grant ${pluginId} ${quoteWord(word)}`;
}

/** A word as a shell takes it for one. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What such a command line would grant; null for any other text. */
export function readGrantCommand(command: string): { pluginId: string; word: string } | null {
  const [, pluginId, word] = /^bulkhead plugin grant ([a-z0-9-]+) (\S+|'[^]*')$/.exec(command) ?? [];
  if (pluginId === undefined || word === undefined) return null;
  if (!word.startsWith("'")) return { pluginId, word };
  return { pluginId, word: word.slice(1, -1).replaceAll(`'\\''`, "'") };
}
