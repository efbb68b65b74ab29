import { parsePatch, type StructuredPatch } from "diff";

/** Lines of a file that follow each other in a patch. */
export type Hunk = Pick<StructuredPatch["hunks"][number], "oldStart" | "newStart" | "lines">;

/** One file of a patch. Its hunks are read when they are drawn. */
export interface PatchFile {
  /** Its path after the change. */
  path: string;
  how: "new" | "deleted" | "moved" | null;
  isBinary: boolean;
  added: number;
  removed: number;
  /** Lines of its hunks, with the heads of those. */
  lines: number;
  hunks(): readonly Hunk[];
}

const fileHead = "diff --git ";

/** Reads git's patch of any number of files; empty where the text is none. */
export function readPatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let at = patch.startsWith(fileHead) ? 0 : patch.indexOf(`\n${fileHead}`) + 1;
  // A line of content has a sign before it, so this is the head of a file wherever it begins a line.
  while (patch.startsWith(fileHead, at)) {
    const next = patch.indexOf(`\n${fileHead}`, at);
    const end = next === -1 ? patch.length : next + 1;
    const file = readFile(patch.slice(at, end));
    if (file !== null) files.push(file);
    at = end;
  }
  return files;
}

function readFile(text: string): PatchFile | null {
  const body = text.indexOf("\n@@") + 1;
  const head = parsed(body === 0 ? text : text.slice(0, body));
  if (head === null) return null;
  let hunks: readonly Hunk[] | undefined;
  return {
    path: pathOf(head),
    how: howOf(head),
    isBinary: head.isBinary === true || /^(GIT binary patch|Binary files )/m.test(body === 0 ? text : ""),
    ...countLines(text, body),
    hunks: () => hunks ??= body === 0 ? [] : parsed(text)?.hunks ?? [],
  };
}

/** Names how a patch adds, removes or moves a file; null where it only changes lines. */
export function howOf({ isCreate, isDelete, isRename }: StructuredPatch): PatchFile["how"] {
  return isCreate ? "new" : isDelete ? "deleted" : isRename ? "moved" : null;
}

/** The path of a file of a patch after the change. */
export function pathOf({ oldFileName, newFileName }: StructuredPatch): string {
  const name = newFileName === undefined || newFileName === "/dev/null" ? oldFileName : newFileName;
  return (name ?? "").replace(/^[ab]\//, "");
}

function parsed(text: string): StructuredPatch | null {
  try {
    return parsePatch(text)[0] ?? null;
  } catch {
    return null;
  }
}

const [plus, minus] = [43, 45];

function countLines(text: string, body: number): Pick<PatchFile, "added" | "removed" | "lines"> {
  const count = { added: 0, removed: 0, lines: 0 };
  if (body === 0) return count;
  for (let at = body; at < text.length; at = text.indexOf("\n", at) + 1 || text.length) {
    const sign = text.charCodeAt(at);
    if (sign === plus) count.added++;
    else if (sign === minus) count.removed++;
    count.lines++;
  }
  return count;
}
