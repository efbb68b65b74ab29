/** The end of a path, by which a person knows it. */
export function shortPath(path: string): string {
  const inWorktree = /\/workspaces\/[0-9a-f]{16,64}\/tree\/(.+)$/.exec(path)?.[1];
  if (inWorktree !== undefined) return `${inWorktree} (worktree)`;
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** The last name of a path: of a worktree, the name of its repository. */
export function folderName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
