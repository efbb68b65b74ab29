import { symbolicTarget } from "./read-refs.ts";

/** A word of a command line as a shell reads it: an agent chooses names. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

/** Command that gives the repository a ref that is kept, under the name that it had. */
export function bringBack(name: string, { keptAs, head }: { keptAs: string; head: string }): string {
  // A branch that is checked out moves with its files.
  if (name === "HEAD" || symbolicTarget(head) === name) return `git merge --autostash ${shellWord(keptAs)}`;
  if (name.startsWith("stash@")) return `git stash apply ${shellWord(keptAs)}`;
  if (name === "index") return `git read-tree ${shellWord(keptAs)}`;
  if (name.startsWith("refs/")) return `git update-ref ${shellWord(name)} ${shellWord(keptAs)}`;
  return `git log ${shellWord(keptAs)}`;
}

/** Command that deletes a ref outside. */
export function deletion(name: string): string {
  if (name === "refs/stash") return "git stash clear";
  return `git update-ref -d ${shellWord(name)}`;
}
