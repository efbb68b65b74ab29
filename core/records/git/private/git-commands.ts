import { quoteWord } from "../../../ground/config/grant-command.ts";

/** Command that deletes a ref outside; git deletes no branch that is checked out. */
export function deletion(name: string): string {
  if (name === "refs/stash") return "git stash clear";
  if (name.startsWith("refs/heads/")) return `git branch -D -- ${quoteWord(name.slice("refs/heads/".length))}`;
  return `git update-ref -d ${quoteWord(name)}`;
}

/** Hint for a linked worktree whose repository was moved. */
export function repairHint(top: string): string {
  return `If its repository was moved, run there: git worktree repair ${quoteWord(top)}`;
}
