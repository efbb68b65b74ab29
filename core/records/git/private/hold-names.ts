/**
 * The name below which refs of a session are kept. For a session with a worktree of its own, the name that `apply` gives to
 * its commits must stay free.
 */
export function keptRoot(sessionId: string, { isWorktree }: { isWorktree: boolean }): string {
  return `refs/bulkhead/${sessionId}${isWorktree ? ".git" : ""}`;
}

/** Names of the refs that keep what a session borrows: the commit that it begins at, and the tree of its index. */
export function holdNames(sessionId: string): [commit: string, index: string] {
  return [`refs/bulkhead/${sessionId}/base/head`, `refs/bulkhead/${sessionId}/base/index`];
}
