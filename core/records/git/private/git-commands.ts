/** A word of a command line as a shell reads it: an agent chooses names. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

/** Command that deletes a ref outside; git deletes no branch that is checked out. */
export function deletion(name: string): string {
  if (name === "refs/stash") return "git stash clear";
  if (name.startsWith("refs/heads/")) return `git branch -D -- ${shellWord(name.slice("refs/heads/".length))}`;
  return `git update-ref -d ${shellWord(name)}`;
}

/** Hint for a linked worktree whose repository was moved. */
export function repairHint(top: string): string {
  return `If its repository was moved, run there: git worktree repair ${shellWord(top)}`;
}
