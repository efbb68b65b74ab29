import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Highlighter, Token } from "../highlight.ts";
import { Text } from "../text.tsx";
import { changedWords, cutAt, type TextRange } from "./changed-words.ts";
import { type DiffLine, type DiffPiece, type LinePlace, placeOf, sidesOf } from "./diff-lines.ts";

/** Additions to the lines of a file: a person may comment on them, and open those that are not shown. */
export interface DiffMarks {
  onLine?: ((at: LinePlace & { isRange: boolean }) => void) | undefined;
  onGap?: ((from: number, to: number | null) => void) | undefined;
  isMarked?(at: LinePlace): boolean;
  isCurrent?(at: LinePlace): boolean;
  after?(at: LinePlace): ComponentChildren;
}

interface TableProps {
  path: string;
  pieces: readonly DiffPiece[];
  isSplit?: boolean;
  highlighter: Highlighter | null;
  marks?: DiffMarks;
}

/** The lines of one file's diff, below or beside each other. */
export function DiffTable({ path, pieces, isSplit = false, highlighter, marks = {} }: TableProps) {
  const { onLine } = marks;
  const onClick = onLine && ((event: MouseEvent) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("td[data-at]") : null;
    const [side, line] = cell?.dataset["at"]?.split(" ") ?? [];
    if (side === "old" || side === "new") onLine({ side, line: Number(line), isRange: event.shiftKey });
  });
  return (
    <table class={`${isSplit ? "split" : "unified"}${onLine ? " commentable" : ""}`} onClick={onClick}>
      {pieces.map((piece) =>
        "lines" in piece
          ? <Lines path={path} lines={piece.lines} isSplit={isSplit} highlighter={highlighter} marks={marks} />
          : <Gap of={piece} columns={isSplit ? 4 : 3} open={marks.onGap} />
      )}
    </table>
  );
}

/** Lines that open at a time. */
const step = 20;

/** Lines that are not shown, and the buttons that show them. */
function Gap(
  { of: { from, to }, columns, open }: {
    of: { from: number; to: number | null };
    columns: number;
    open: DiffMarks["onGap"];
  },
) {
  const count = to === null ? null : to - from + 1;
  const isLong = count === null || count > step;
  return (
    <tbody class="gap">
      <tr>
        <td colSpan={columns}>
          <span class="gap-line">
            {count === null
              ? "The rest of the file"
              : `${count.toLocaleString("en")} unchanged ${count === 1 ? "line" : "lines"}`}
            {open !== undefined && (
              <>
                {isLong && <button type="button" onClick={() => open(from, from + step - 1)}>↓ {step} more</button>}
                {isLong && to !== null && (
                  <button type="button" onClick={() => open(to - step + 1, to)}>↑ {step} more</button>
                )}
                {count !== null && <button type="button" onClick={() => open(from, to)}>Show all</button>}
              </>
            )}
          </span>
        </td>
      </tr>
    </tbody>
  );
}

interface LinesProps extends Omit<TableProps, "pieces" | "isSplit" | "marks"> {
  lines: readonly DiffLine[];
  isSplit: boolean;
  marks: DiffMarks;
}

function Lines({ path, lines, isSplit, highlighter, marks }: LinesProps) {
  const words = useMemo(() => wordsOf(lines), [lines]);
  const colours = useMemo(() => {
    const tokens = highlighter?.(path, lines.map(({ text }) => text).join("\n"));
    return new Map(lines.map((line, at) => [line, tokens?.[at]]));
  }, [lines, highlighter]);
  const code = (line: DiffLine) => <Code of={line} tokens={colours.get(line)} words={words.get(line)} />;
  if (!isSplit) {
    return <tbody>{lines.map((line) => <UnifiedRow of={line} marks={marks} code={code} />)}</tbody>;
  }
  return <tbody>{sidesOf(lines).map((row) => <SplitRow of={row} marks={marks} code={code} />)}</tbody>;
}

function wordsOf(lines: readonly DiffLine[]): Map<DiffLine, TextRange[]> {
  const found = new Map<DiffLine, TextRange[]>();
  for (const line of lines) {
    if (line.sign !== "-" || line.mate === null) continue;
    const words = changedWords(line.text, line.mate.text);
    if (words === null) continue;
    found.set(line, words.before);
    found.set(line.mate, words.after);
  }
  return found;
}

const looks = { " ": "", "+": "added", "-": "removed" } as const;

interface RowProps<T> {
  of: T;
  marks: DiffMarks;
  code(line: DiffLine): ComponentChildren;
}

function lookOf(line: DiffLine, marks: DiffMarks): string {
  const at = placeOf(line);
  return `${looks[line.sign]}${marks.isMarked?.(at) ? " marked" : ""}${marks.isCurrent?.(at) ? " current-line" : ""}`;
}

function UnifiedRow({ of: line, marks, code }: RowProps<DiffLine>) {
  const at = placeOf(line);
  const name = `${at.side} ${at.line}`;
  return (
    <>
      <tr class={lookOf(line, marks)}>
        <td class="line-number" data-at={line.old === null ? undefined : name}>{line.old}</td>
        <td class="line-number" data-at={line.new === null ? undefined : name}>{line.new}</td>
        <td class="line-text">{code(line)}</td>
      </tr>
      <Below places={[at]} marks={marks} columns={3} />
    </>
  );
}

function SplitRow({ of: { left, right }, marks, code }: RowProps<{ left: DiffLine | null; right: DiffLine | null }>) {
  const places = left === right && right !== null
    ? [placeOf(right)]
    : [left, right].flatMap((line) => line === null ? [] : [placeOf(line)]);
  return (
    <>
      <tr>
        <Side of={left} number={left?.old ?? null} marks={marks} code={code} />
        <Side of={right} number={right?.new ?? null} marks={marks} code={code} />
      </tr>
      <Below places={places} marks={marks} columns={4} />
    </>
  );
}

function Side(
  { of: line, number, marks, code }: Omit<RowProps<DiffLine | null>, "of"> & {
    of: DiffLine | null;
    number: number | null;
  },
) {
  if (line === null) return <td class="nothing" colSpan={2} />;
  const look = lookOf(line, marks);
  const at = placeOf(line);
  return (
    <>
      <td class={`line-number ${look}`} data-at={`${at.side} ${at.line}`}>{number}</td>
      <td class={`line-text ${look}`}>{code(line)}</td>
    </>
  );
}

/** Comments below a line. */
function Below({ places, marks, columns }: { places: readonly LinePlace[]; marks: DiffMarks; columns: number }) {
  const all = places.map((at) => marks.after?.(at)).filter((one) => one != null);
  if (all.length === 0) return null;
  return (
    <tr class="comment-row">
      <td colSpan={columns}>{all}</td>
    </tr>
  );
}

function Code(
  { of: { sign, text }, tokens, words = [] }: {
    of: DiffLine;
    tokens: readonly Token[] | undefined;
    words: readonly TextRange[] | undefined;
  },
) {
  const pieces = cutAt<Token>(tokens ?? [{ text, scope: null }], words);
  return (
    <code>
      <span class="sign">{sign}</span>
      {pieces.map(({ text, scope, isChanged }) => {
        const look = [scope === null ? "" : `hl-${scope}`, isChanged ? "changed-word" : ""].filter(Boolean).join(" ");
        return look === "" ? <Text of={text} /> : (
          <span class={look}>
            <Text of={text} />
          </span>
        );
      })}
    </code>
  );
}
