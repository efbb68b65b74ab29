import { linesOf } from "./diff-lines.ts";
import type { Comment } from "./kept-review.ts";
import { rangeText } from "./line-comments.tsx";
import type { PatchFile } from "./patch-files.ts";

/** The beginning of every prompt that is a review. */
const opening = "Please change your work as ";
/** Lines that a comment quotes. */
const mostQuoted = 20;

/** Comments as a prompt. Each quotes its lines: their numbers move with the first change. */
export function promptOf(comments: readonly Comment[], files: readonly PatchFile[]): string {
  const asked = comments.length === 1 ? "this review comment asks" : `these ${comments.length} review comments ask`;
  const each = comments.map((one, at) =>
    `${at + 1}. ${one.file}, ${rangeText(one).toLowerCase()}:\n${quoted(one, files)}\n   ${
      one.text.trim().replaceAll("\n", "\n   ")
    }`
  );
  return [`${opening}${asked}. Your changes so far are in the folder.`, ...each].join("\n\n");
}

/** Whether a turn began with a review. The title is the beginning of its prompt. */
export function isReview(title: string): boolean {
  return title.startsWith(opening);
}

function quoted({ file, side, from, to }: Comment, files: readonly PatchFile[]): string {
  const lines = files.find(({ path }) => path === file)?.hunks().flatMap(linesOf) ?? [];
  const numberOf = (line: typeof lines[number]) => side === "old" ? line.old : line.new;
  const own = lines.filter((line) => {
    const number = numberOf(line);
    return number !== null && from <= number && number <= to;
  });
  const left = own.length - mostQuoted;
  return [
    ...own.slice(0, mostQuoted).map(({ sign, text }) => `   > ${sign}${text}`),
    ...(left > 0 ? [`   > and ${left} more`] : []),
  ].join("\n");
}
