import type { Highlighter } from "../highlight.ts";
import type { DiffLine } from "./diff-lines.ts";
import type { PatchFile } from "./patch-files.ts";
import type { ReviewState } from "./review-state.ts";

/** Changed files, and a person's work on them. */
export interface ReviewedFiles {
  files: readonly PatchFile[];
  state: ReviewState;
  /** Whether a person may comment here. */
  takesComments: boolean;
  /** Marks the content of a file: one that has changed since is not viewed any more. */
  markOf(path: string): string;
  addressOfFile(path: string): string;
  /** Brings a file into view. */
  show(path: string): void;
  /** Reads all lines of a changed file; null where they cannot be read. */
  wholeOf: ((path: string) => Promise<readonly DiffLine[]>) | null;
  highlighter: Highlighter | null;
}

/** Files that are drawn, or not, together: thousands of heads would be slow. */
export const groupSize = 50;
/** Height of a line, to begin with. */
const lineHeight = 20;
/** Lines of one file that are drawn before more is asked for. */
export const mostLines = 600;

/** Height that a file probably takes. */
export function heightOf({ lines }: PatchFile): number {
  return Math.min(lines, mostLines) * lineHeight;
}

/** Id of the element of a group of files. */
export function groupId(at: number): string {
  return `file-group-${at}`;
}

/** Frames in which a part that comes into view is drawn. */
const mostFrames = 40;

/** Brings a file, or one of its lines, into view. Parts between are drawn on the way there. */
export function scrollToFile(files: readonly PatchFile[], path: string, line?: string): void {
  const group = Math.floor(files.findIndex((file) => file.path === path) / groupSize);
  let frames = 0;
  const step = () => {
    const section = [...document.querySelectorAll<HTMLElement>(".diff-file[data-path]")]
      .find((one) => one.dataset["path"] === path);
    const row = line === undefined ? null : section?.querySelector(`td[data-at="${line}"]`);
    const found = row ?? section ?? document.getElementById(groupId(group));
    found?.scrollIntoView({ block: row === null || row === undefined ? "start" : "nearest" });
    const isThere = line === undefined ? section !== undefined : row != null;
    // Heights above it settle once they are drawn.
    if (++frames < (isThere ? 3 : mostFrames) && found !== null) requestAnimationFrame(step);
  };
  step();
}
