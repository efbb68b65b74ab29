import type { PatchFile } from "./patch-files.ts";

/** A folder of changed files; a folder with nothing but one folder in it is one with that. */
export interface FolderNode {
  /** Its path from the top; empty for the top. */
  path: string;
  /** Its name, below the folder that shows it. */
  name: string;
  folders: FolderNode[];
  files: PatchFile[];
}

/** Puts files into their folders. */
export function treeOf(files: readonly PatchFile[]): FolderNode {
  const top: FolderNode = { path: "", name: "", folders: [], files: [] };
  const known = new Map([["", top]]);
  for (const file of files) folderOf(file.path, known).files.push(file);
  return { ...top, folders: top.folders.map(joined) };
}

function folderOf(path: string, known: Map<string, FolderNode>): FolderNode {
  const end = path.lastIndexOf("/");
  const folder = end === -1 ? "" : path.slice(0, end);
  const found = known.get(folder);
  if (found !== undefined) return found;
  const made: FolderNode = { path: folder, name: folder.slice(folder.lastIndexOf("/") + 1), folders: [], files: [] };
  known.set(folder, made);
  folderOf(folder, known).folders.push(made);
  return made;
}

function joined(node: FolderNode): FolderNode {
  const [only] = node.folders;
  if (only === undefined || node.folders.length > 1 || node.files.length > 0) {
    return { ...node, folders: node.folders.map(joined) };
  }
  const below = joined(only);
  return { ...below, name: `${node.name}/${below.name}` };
}
