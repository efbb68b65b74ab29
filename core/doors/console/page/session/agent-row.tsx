import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { foldRows, type TimelineRow } from "../fold.ts";
import { Failed } from "../parts.tsx";
import { MarkdownText } from "../rows/markdown-text.tsx";
import type { SessionEvents } from "../session-events.ts";
import type { ShownEvent } from "../shown-event.ts";
import { plainText } from "../shown-text.ts";
import { FoldRow, LongText } from "../text.tsx";

type AgentFacts = Extract<TimelineRow, { kind: "agent" }>;

/** Events that are read at a time. */
const mostRead = 200;

/** The session of the rows; whether the row in which an agent of the agent began has all that it did. */
const Source = createContext<{ events: SessionEvents; isWhole: boolean } | null>(null);

/** Gives rows the events of their session. */
export const AgentSourceProvider = Source.Provider;

interface AgentRowProps {
  row: AgentFacts;
  target: number | null;
  /** Draws rows that are in it. */
  draw: (rows: readonly TimelineRow[]) => ComponentChildren;
}

/** Shows what an agent of the agent did, under the name that it has. */
export function AgentRow({ row, target, draw }: AgentRowProps) {
  const source = useContext(Source);
  const folds = source?.events.folds;
  // Read here, so that more that is known draws it again.
  void folds?.version.value;
  const isWhole = source?.isWhole === true && row.started !== null;
  const sum = isWhole ? folds?.agent(row.agent_id, row.seq) ?? null : null;
  const outcome = row.ended?.outcome ?? sum?.outcome ?? null;
  const state = outcome === null ? "open" : outcome === "completed" ? "ok" : "bad";
  const name = row.started?.name ?? folds?.homeOf(row.agent_id, row.seq)?.name ?? row.agent_id;
  const line = (
    <>
      <span class="tool-mark" aria-hidden="true">{state === "open" ? "○" : state === "ok" ? "✓" : "✕"}</span>
      <span class="tool-name">Agent {plainText(name, 60)}</span>
      <span class="one-line">{plainText(row.started?.prompt ?? "", 160)}</span>
      <span class="tool-end">
        {isWhole ? sum !== null && countText(sum.calls, "call") : `${countText(row.rows.length, "step")} here`}
        {outcome !== null && outcome !== "completed" && ` · ${outcome}`}
      </span>
    </>
  );
  return (
    <FoldRow class={`tool tool-${state}`} line={line} isOpen={target !== null}>
      {() =>
        isWhole && source !== null
          ? <WholeWork events={source.events} row={row} count={sum?.events ?? 0} draw={draw} />
          : <Work row={row} draw={draw} />}
    </FoldRow>
  );
}

function countText(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

function Work({ row: { started, ended, rows }, draw }: Omit<AgentRowProps, "target">) {
  return (
    <>
      {started?.prompt !== undefined && <LongText of={started.prompt} class="prose" />}
      {draw(rows)}
      {ended?.output !== undefined && ended.output !== "" && <MarkdownText of={ended.output} />}
    </>
  );
}

interface WholeWorkProps extends Omit<AgentRowProps, "target"> {
  events: SessionEvents;
  /** Events that there are. */
  count: number;
}

/** All that an agent of the agent did, read when its row is opened, a part at a time. */
function WholeWork({ events, row, count, draw }: WholeWorkProps) {
  const { read, failed, more } = useWork(events, row, count);
  const [folded] = foldRows(read);
  return (
    <>
      {failed !== null && <Failed of={failed} />}
      {folded?.kind === "agent" ? <Work row={folded} draw={draw} /> : <p class="quiet-line">Reading …</p>}
      {more !== null && <button type="button" class="more" onClick={more}>Show more of it</button>}
    </>
  );
}

function useWork(events: SessionEvents, { agent_id, seq }: AgentFacts, count: number) {
  const [most, setMost] = useState(mostRead);
  const [read, setRead] = useState<readonly ShownEvent[]>([]);
  const [failed, setFailed] = useState<unknown>(null);
  const limit = Math.min(most, count) - read.length;
  useEffect(() => {
    if (limit <= 0) return;
    const over = new AbortController();
    const query = { after: read.at(-1)?.seq ?? seq - 1, limit };
    events.ofAgent(agent_id, query, over.signal).then(
      (next) => (setFailed(null), next.length > 0 && setRead([...read, ...next])),
      (error: unknown) => !over.signal.aborted && setFailed(error),
    );
    return () => over.abort();
  }, [limit, read]);
  return { read, failed, more: count > most ? () => setMost(most + mostRead) : null };
}
