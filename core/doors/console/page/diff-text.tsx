import { parsePatch, type StructuredPatch } from "diff";
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Highlighter, Token } from "./highlight.ts";
import { LongText, Text } from "./text.tsx";
import { noticeOf, useConsole } from "./console-context.ts";
import { Failure, useLoaded } from "./parts.tsx";

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

/** The path of a file of a patch after the change. */
export function pathOf({ oldFileName, newFileName }: StructuredPatch): string {
  const name = newFileName === undefined || newFileName === "/dev/null" ? oldFileName : newFileName;
  return (name ?? "").replace(/^[ab]\//, "");
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

/** Additions to the lines of a file: a person may comment on them. */
export interface DiffMarks {
  onLine?(at: { side: "old" | "new"; line: number; isRange: boolean }): void;
  isMarked?(at: { side: "old" | "new"; line: number }): boolean;
  after?(at: { side: "old" | "new"; line: number }): ComponentChildren;
}

/** One file of a patch. */
export function DiffFile({ file, marks = {} }: { file: StructuredPatch; marks?: DiffMarks }) {
  const [most, setMost] = useState(mostLines);
  const highlighter = useHighlighter();
  const path = pathOf(file);
  const rows = rowsOf(file, { most, marks, highlighter });
  const all = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <section class="diff-file" aria-label={path}>
      <header>
        <code>
          <Text of={path} />
        </code>{" "}
        <DiffCounts file={file} />
      </header>
      {rows.length === 0
        ? (
          <p class="quiet-line">
            {file.isBinary === true
              ? "A binary file."
              : "No line differs: the file was added, moved or removed as it is, or is binary."}
          </p>
        )
        : (
          <div class="diff-scroll" tabIndex={0} role="region" aria-label={`Changes of ${path}`}>
            <table>
              <tbody>{rows}</tbody>
            </table>
          </div>
        )}
      {all > most && (
        <button type="button" class="more" onClick={() => setMost(most * 4)}>Show more of {all} lines</button>
      )}
    </section>
  );
}

interface RowOptions {
  /** Lines at most. */
  most: number;
  marks: DiffMarks;
  highlighter: ReturnType<typeof useHighlighter>;
}

/** The first lines of a file as rows of a table. */
function rowsOf(file: StructuredPatch, { most, marks, highlighter }: RowOptions): ComponentChildren[] {
  const rows: ComponentChildren[] = [];
  let drawn = 0;
  for (const hunk of file.hunks) {
    if (drawn >= most) break;
    const lines = hunk.lines.slice(0, most - drawn);
    const colours = highlighter?.(pathOf(file), lines.map((line) => line.slice(1)).join("\n"));
    rows.push(
      <tr class="hunk">
        <td class="line-number" />
        <td class="line-number" />
        <td>
          <code>@@ -{hunk.oldStart},{hunk.oldLines} +{hunk.newStart},{hunk.newLines} @@</code>
        </td>
      </tr>,
      ...lineRows({ ...hunk, lines }, { marks, colours }),
    );
    drawn += lines.filter((line) => !line.startsWith("\\")).length;
  }
  return rows;
}

function lineRows(
  { oldStart: before, newStart: after, lines }: StructuredPatch["hunks"][number],
  { marks, colours }: { marks: DiffMarks; colours: readonly (readonly Token[])[] | null | undefined },
): ComponentChildren[] {
  return lines.flatMap((line, index) => {
    if (line.startsWith("\\")) return [];
    const sign = line[0] ?? " ";
    const at = sign === "-" ? { side: "old" as const, line: before } : { side: "new" as const, line: after };
    const below = marks.after?.(at);
    const row = (
      <DiffLine
        sign={sign}
        before={sign === "+" ? null : before}
        after={sign === "-" ? null : after}
        marks={marks}
        at={at}
      >
        {colours?.[index] === undefined ? <Text of={line.slice(1)} /> : <Tokens of={colours[index]} />}
      </DiffLine>
    );
    if (sign !== "+") before += 1;
    if (sign !== "-") after += 1;
    if (!below) return [row];
    return [
      row,
      <tr class="comment-row">
        <td colSpan={3}>{below}</td>
      </tr>,
    ];
  });
}

function DiffCounts({ file }: { file: StructuredPatch }) {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith("+")).length;
  const removed = lines.filter((line) => line.startsWith("-")).length;
  const how = file.isCreate ? "new" : file.isDelete ? "deleted" : file.isRename ? "moved" : null;
  return (
    <span class="diff-counts">
      {how !== null && <span class="tag">{how}</span>} <span class="plus">+{added}</span>{" "}
      <span class="minus">−{removed}</span>
    </span>
  );
}

function DiffLine(
  { sign, before, after, marks, at, children }: {
    sign: string;
    before: number | null;
    after: number | null;
    marks: DiffMarks;
    at: { side: "old" | "new"; line: number };
    children: ComponentChildren;
  },
) {
  const look = sign === "+" ? "added" : sign === "-" ? "removed" : "";
  const { onLine } = marks;
  const act = onLine && ((isRange: boolean) => onLine({ ...at, isRange }));
  return (
    <tr class={`${look}${marks.isMarked?.(at) ? " marked" : ""}`}>
      <td class="line-number">
        <LineNumber of={before} act={sign === " " ? undefined : act} />
      </td>
      <td class="line-number">
        <LineNumber of={after} act={act} />
      </td>
      <td>
        <code>
          <span class="sign">{sign}</span>
          {children}
        </code>
      </td>
    </tr>
  );
}

/** The number of a line, which a person may click to comment on it. */
function LineNumber({ of: number, act }: { of: number | null; act: ((isRange: boolean) => void) | undefined }) {
  if (number === null || act === undefined) return <>{number}</>;
  return (
    <button
      type="button"
      aria-label={`Comment on line ${number}`}
      title="Comment on this line; with Shift on the lines up to it"
      onClick={({ shiftKey }) => act(shiftKey)}
    >
      {number}
    </button>
  );
}

function Tokens({ of: tokens }: { of: readonly Token[] }) {
  return (
    <>
      {tokens.map(({ text, scope }) =>
        scope === null ? <Text of={text} /> : (
          <span class={`hl-${scope}`}>
            <Text of={text} />
          </span>
        )
      )}
    </>
  );
}

let loading: Promise<Highlighter> | undefined;

/** The highlighter, once it is loaded: it comes with the first diff that is shown. */
function useHighlighter(): Highlighter | null {
  const [found, setFound] = useState<Highlighter | null>(null);
  useEffect(() => {
    let isHere = true;
    loading ??= import("./highlight.ts").then(({ highlightLines }) => highlightLines);
    loading.then((highlight) => isHere && setFound(() => highlight), () => (loading = undefined));
    return () => void (isHere = false);
  }, []);
  return found;
}

/** Changes in a session's worktree, read when it is shown. */
export function SessionDiffText({ id }: { id: string }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(
    (signal) => api.get<{ patch?: string }>(`/v1/sessions/${encodeURIComponent(id)}/diff`, {}, signal),
    [id],
  );
  if (loaded === undefined) return <p class="quiet-line">Reading …</p>;
  if ("failed" in loaded) return <Failure {...noticeOf(loaded.failed)} />;
  const { patch = "" } = loaded.value;
  return patch === "" ? <p class="quiet-line">No text was changed.</p> : <DiffText of={patch} />;
}
