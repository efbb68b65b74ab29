import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { Ago, Empty, Failure, Screen, StandingMark } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { type Standing, standingOf, standings } from "../session-list.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { UsageOf } from "../usage-of.tsx";

/** The list of sessions. A session keeps its place, whatever happens to it. */
export function Sessions() {
  const { sessions } = useConsole();
  const [text, setText] = useState("");
  const [only, setOnly] = useState<Standing | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const queued = sessions.queued.value;
  const all = sessions.all.value.map((session) => ({ session, standing: standingOf(session, queued) }));
  const counts = new Map<Standing, number>();
  for (const { standing } of all) counts.set(standing, (counts.get(standing) ?? 0) + 1);
  const shown = all.filter(({ session, standing }) => (only === null || standing === only) && isFound(session, text));
  const state = sessions.state.value;
  useRowKeys(shown.length, search);
  return (
    <Screen
      title="Sessions"
      lead={all.length === 0 ? "Everything that runs or ran on this host" : (
        <span>
          <b>{all.length}</b>
          {sessions.next.value !== null && "+"} sessions, the newest first
        </span>
      )}
      actions={<a class="button primary" href={addressOf("start")}>Start a session</a>}
    >
      {all.length > 0 && (
        <Filters text={text} setText={setText} only={only} setOnly={setOnly} counts={counts} search={search} />
      )}
      {typeof state === "object" && <Failure text={state.failed} />}
      {all.length === 0 && state === "ready" && <NoSession />}
      {all.length > 0 && shown.length === 0 && <NoMatch hasMore={sessions.next.value !== null} />}
      <ul class="session-list">
        {shown.map(({ session, standing }) => (
          <SessionRow key={session.session_id} session={session} standing={standing} search={setText} />
        ))}
      </ul>
      {sessions.next.value !== null && (
        <button type="button" class="more" onClick={() => void sessions.readMore()}>Show older sessions</button>
      )}
    </Screen>
  );
}

/** Moves through the rows, and to the search, by keys. */
function useRowKeys(rows: number, search: RefObject<HTMLInputElement | null>): void {
  const [at, setAt] = useState(-1);
  const move = (to: number) => {
    const index = Math.max(0, Math.min(to, rows - 1));
    setAt(index);
    document.querySelectorAll<HTMLElement>(".session-row a.session-title")[index]?.focus();
  };
  useKeys({
    j: () => move(at + 1),
    k: () => move(at - 1),
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at - 1),
    "/": () => search.current?.focus(),
    "+": () => goTo("start"),
  });
}

interface FiltersProps {
  text: string;
  setText(text: string): void;
  only: Standing | null;
  setOnly(only: Standing | null): void;
  counts: ReadonlyMap<Standing, number>;
  search: RefObject<HTMLInputElement | null>;
}

function Filters({ text, setText, only, setOnly, counts, search }: FiltersProps) {
  return (
    <div class="filters">
      <input
        ref={search}
        type="search"
        placeholder="Search title, agent, folder, label=value"
        aria-label="Search sessions"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <div class="chips" role="group" aria-label="Filter by state">
        <button type="button" class="chip" aria-pressed={only === null} onClick={() => setOnly(null)}>All</button>
        {(Object.keys(standings) as Standing[]).filter((name) => counts.has(name) || only === name).map((name) => (
          <button
            type="button"
            class="chip"
            aria-pressed={only === name}
            onClick={() => setOnly(only === name ? null : name)}
          >
            <StandingMark of={name} /> <span class="count">{counts.get(name) ?? 0}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

function NoSession() {
  return (
    <Empty title="No session yet">
      <p>
        Start one here, or from a terminal: <code class="command">bulkhead run replay "Try it"</code>
      </p>
      <p>
        <a class="button primary" href={addressOf("start")}>Start a session</a>
      </p>
    </Empty>
  );
}

function NoMatch({ hasMore }: { hasMore: boolean }) {
  return (
    <Empty title="No session matches">
      <p>
        Clear the search, or choose another state.
        {hasMore && " Older sessions are not searched until they are shown."}
      </p>
    </Empty>
  );
}

interface SessionRowProps {
  session: SessionSummary;
  standing: Standing;
  search(words: string): void;
}

function SessionRow({ session, standing, search }: SessionRowProps) {
  const element = useRef<HTMLLIElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setIsSeen(true));
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return (
    <li class={`session-row is-${standing}`} ref={element}>
      <StandingMark of={standing} />
      <div class="session-main">
        <a class="session-title" href={addressOf("sessions", session.session_id)}>
          {plainText(session.title, 200) || "(no prompt)"}
        </a>
        <RowFacts session={session} standing={standing} search={search} />
      </div>
      <span class="session-usage">{isSeen && session.state === "ended" && <UsageOf id={session.session_id} />}</span>
      <span class="session-time">
        <Ago at={session.started_at} />
        {session.ended_at !== null && <span class="quiet-line">{session.last_seq.toLocaleString("en")} events</span>}
      </span>
    </li>
  );
}

function RowFacts({ session, standing, search }: SessionRowProps) {
  const labels = Object.entries(session.labels);
  return (
    <span class="session-facts">
      <b>{session.adapter_id ?? "no agent yet"}</b>
      <code title={plainText(session.workdir, 4096)}>
        <Text of={shortPath(session.workdir)} />
      </code>
      {labels.slice(0, 4).map(([name, value]) => (
        <button
          type="button"
          class="label"
          title="Show sessions with this label"
          onClick={() => search(`${name}=${value}`)}
        >
          {plainText(name, 40)}={plainText(value, 40)}
        </button>
      ))}
      {standing === "waiting" && <span class="waits-for">{plainText(session.waiting[0]?.text ?? "", 120)}</span>}
      {(standing === "failed" || standing === "blocked") && (
        <span class="why">{session.stop_reason?.replaceAll("_", " ")}</span>
      )}
    </span>
  );
}

function isFound(session: SessionSummary, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return true;
  const labels = Object.entries(session.labels).map(([name, value]) => `${name}=${value}`);
  const all = [session.title, session.adapter_id, session.workdir, session.session_id, session.task_id, ...labels].join(
    "\n",
  ).toLowerCase();
  return words.every((word) => all.includes(word));
}

/** The end of a path, by which a person knows it. */
export function shortPath(path: string): string {
  const inWorktree = /\/workspaces\/[0-9a-f]{16,64}\/tree\/(.+)$/.exec(path)?.[1];
  if (inWorktree !== undefined) return `${inWorktree} (worktree)`;
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}
