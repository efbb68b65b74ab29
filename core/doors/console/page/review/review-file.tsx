import { useComputed } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { noticeOf, useConsole } from "../console-context.ts";
import { DiffCounts, noLines } from "../diff-text.tsx";
import { Text } from "../text.tsx";
import { type DiffLine, type DiffPiece, piecesOfHunks, piecesOfLines } from "./diff-lines.ts";
import { DiffTable } from "./diff-table.tsx";
import { lineComments } from "./line-comments.tsx";
import { Near } from "./near.tsx";
import type { PatchFile } from "./patch-files.ts";
import { heightOf, mostLines, type ReviewedFiles } from "./reviewed-files.ts";

interface FileProps {
  file: PatchFile;
  of: ReviewedFiles;
}

/** One changed file: its head, which stays in view, and its lines. */
export function ReviewFile({ file, of: reviewed }: FileProps) {
  const isClosed = useComputed(() => reviewed.state.isClosed(file.path, reviewed.markOf(file.path)));
  return (
    <section class="diff-file" aria-label={file.path} data-path={file.path}>
      <FileHead file={file} of={reviewed} isClosed={isClosed.value} />
      {!isClosed.value && <Near height={heightOf(file)}>{() => <FileLines file={file} of={reviewed} />}</Near>}
    </section>
  );
}

function FileHead({ file, of: { state, markOf }, isClosed }: FileProps & { isClosed: boolean }) {
  const { path } = file;
  const mark = markOf(path);
  const isViewed = useComputed(() => state.isViewed(path, mark));
  const isCurrent = useComputed(() => state.cursor.value?.file === path);
  return (
    <header class={isCurrent.value ? "current-file" : undefined}>
      <button
        type="button"
        class="fold"
        aria-expanded={!isClosed}
        aria-label={`Lines of ${path}`}
        onClick={() => state.toggle(path, mark)}
      >
        {isClosed ? "▸" : "▾"}
      </button>
      <code class="file-name">
        <Text of={path} />
      </code>
      <DiffCounts of={file} />
      <label class="choice viewed-choice">
        <input
          type="checkbox"
          checked={isViewed.value}
          onChange={({ currentTarget }) => state.view(path, { is: currentTarget.checked, mark })}
        />
        Viewed
      </label>
    </header>
  );
}

function FileLines({ file, of: reviewed }: FileProps) {
  const { state, highlighter, takesComments } = reviewed;
  const { path } = file;
  const [most, setMost] = useState(mostLines);
  const { pieces, open } = usePieces(file, reviewed);
  const { shown, left } = useMemo(() => cut(pieces, most), [pieces, most]);
  const own = useComputed(() => state.comments.value.filter((one) => one.file === path));
  const draft = useComputed(() => state.draft.value?.file === path ? state.draft.value : null);
  const cursor = useComputed(() => state.cursor.value?.file === path ? state.cursor.value : null);
  if (file.lines === 0) return <p class="quiet-line">{file.isBinary ? "A binary file." : noLines}</p>;
  const marks = {
    ...lineComments({ file: path, state, own: own.value, draft: draft.value, takesComments }),
    onGap: open,
    isCurrent: ({ side, line }: { side: string; line: number }) => {
      const at = cursor.value;
      return at !== null && at.side === side && Math.min(at.line, at.to) <= line && line <= Math.max(at.line, at.to);
    },
  };
  return (
    <>
      <DiffTable path={path} pieces={shown} isSplit={state.isSplit.value} highlighter={highlighter} marks={marks} />
      {left > 0 && (
        <button type="button" class="more" onClick={() => setMost(most * 4)}>
          Show more: {left.toLocaleString("en")} lines left
        </button>
      )}
    </>
  );
}

/** The parts of a file, and what opens lines that are not shown: all lines of the file are read at the first time. */
function usePieces(file: PatchFile, { wholeOf }: ReviewedFiles) {
  const { notice } = useConsole();
  const [whole, setWhole] = useState<readonly DiffLine[] | null>(null);
  const [opened, setOpened] = useState<readonly { from: number; to: number }[]>([]);
  const isWhole = file.how === "new" || file.how === "deleted" || wholeOf === null;
  const pieces = useMemo(
    () => whole === null ? piecesOfHunks(file.hunks(), { isWhole }) : piecesOfLines(whole, opened),
    [file, whole, opened],
  );
  const open = wholeOf === null ? undefined : async (from: number, to: number | null) => {
    try {
      setWhole(whole ?? await wholeOf(file.path));
      setOpened([...opened, { from, to: to ?? Infinity }]);
    } catch (error) {
      notice.value = noticeOf(error);
    }
  };
  return { pieces, open: open && ((from: number, to: number | null) => void open(from, to)) };
}

/** The first lines of the parts, and how many are left. */
function cut(pieces: readonly DiffPiece[], most: number): { shown: DiffPiece[]; left: number } {
  let count = 0;
  const shown: DiffPiece[] = [];
  for (const piece of pieces) {
    if (!("lines" in piece)) {
      if (count < most) shown.push(piece);
      continue;
    }
    const lines = count >= most
      ? []
      : piece.lines.length <= most - count
      ? piece.lines
      : piece.lines.slice(0, most - count);
    if (lines.length > 0) shown.push({ lines });
    count += piece.lines.length;
  }
  return { shown, left: Math.max(0, count - most) };
}
