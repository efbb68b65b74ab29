import { parsePatch, type StructuredPatch } from "diff";
import { useMemo, useState } from "preact/hooks";
import { useConsole } from "./console-context.ts";
import { Failed, useLoaded } from "./parts.tsx";
import { type DiffPiece, piecesOfHunks } from "./review/diff-lines.ts";
import { DiffTable } from "./review/diff-table.tsx";
import { howOf, type Hunk, type PatchFile, pathOf } from "./review/patch-files.ts";
import { useHighlighter } from "./review/use-highlighter.ts";
import { LongText, Text } from "./text.tsx";

/** Lines of one file that are drawn before more is asked for. */
const mostLines = 600;

/** A patch's files; null where the text is no patch. */
export function filesOf(patch: string): StructuredPatch[] | null {
  try {
    const files = parsePatch(patch);
    return files.some(({ hunks, isGit }) => hunks.length > 0 || isGit) ? files : null;
  } catch {
    return null;
  }
}

/** A patch, with the colours of its language once they are there. */
export function DiffText({ of: patch }: { of: string }) {
  const files = filesOf(patch);
  if (files === null) return <PlainDiff of={patch} />;
  return <div class="diff">{files.map((file) => <DiffFile key={pathOf(file)} file={file} />)}</div>;
}

/** Lines with signs that are no patch by the book. */
function PlainDiff({ of: text }: { of: string }) {
  if (text.length > 65_536) return <LongText of={text} />;
  return (
    <pre class="diff plain-diff">
      {text.split("\n").map((line) => <span class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}><Text of={`${line}\n`} /></span>)}
    </pre>
  );
}

/** One file of a patch. */
export function DiffFile({ file }: { file: StructuredPatch }) {
  const [most, setMost] = useState(mostLines);
  const highlighter = useHighlighter();
  const path = pathOf(file);
  const pieces = useMemo(() => firstPieces(file.hunks, most), [file, most]);
  const all = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <section class="diff-file" aria-label={path}>
      <header>
        <code>
          <Text of={path} />
        </code>{" "}
        <DiffCounts of={{ how: howOf(file), ...signsIn(file) }} />
      </header>
      {all === 0
        ? <p class="quiet-line">{file.isBinary === true ? "A binary file." : noLines}</p>
        : (
          <div class="diff-scroll" tabIndex={0} role="region" aria-label={`Changes of ${path}`}>
            <DiffTable path={path} pieces={pieces} highlighter={highlighter} />
          </div>
        )}
      {all > most && (
        <button type="button" class="more" onClick={() => setMost(most * 4)}>Show more of {all} lines</button>
      )}
    </section>
  );
}

/** Said where a file has no lines to show. */
export const noLines = "No line differs: the file was added, moved or removed as it is, or is binary.";

/** The first lines of a file, in their parts. */
function firstPieces(hunks: readonly Hunk[], most: number): DiffPiece[] {
  let left = most;
  const first: Hunk[] = [];
  for (const hunk of hunks) {
    if (left <= 0) break;
    first.push({ ...hunk, lines: hunk.lines.slice(0, left) });
    left -= hunk.lines.length;
  }
  const pieces = piecesOfHunks(first, { isWhole: false });
  // No more of the file can be read here.
  return pieces.filter((piece) => "lines" in piece || piece.to !== null);
}

function signsIn({ hunks }: StructuredPatch): { added: number; removed: number } {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-") };
}

/** How a file was changed, and by how many lines. */
export function DiffCounts({ of: { how, added, removed } }: { of: Pick<PatchFile, "how" | "added" | "removed"> }) {
  return (
    <span class="diff-counts">
      {how !== null && <span class="tag">{how}</span>} <span class="plus">+{added}</span>{" "}
      <span class="minus">−{removed}</span>
    </span>
  );
}

/** Changes in a session's worktree, read when it is shown. */
export function SessionDiffText({ id }: { id: string }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<{ patch?: string }>(`/v1/sessions/${encodeURIComponent(id)}/diff`, {}, signal),
    [id],
  );
  if (loaded === undefined) return <p class="quiet-line">Reading …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  const { patch = "" } = loaded.value;
  return patch === "" ? <p class="quiet-line">No text was changed.</p> : <DiffText of={patch} />;
}
