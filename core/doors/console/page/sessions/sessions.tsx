import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { useConsole } from "../console-context.ts";
import { useKeys } from "../keys.ts";
import { May, useMay } from "../may.tsx";
import { Command, Empty, Failed, Screen, toggled } from "../parts.tsx";
import { addressOf, goTo } from "../route.ts";
import { type Standing, standingOf } from "../session-list.ts";
import { ChangedFile, isFile } from "./changed-file.tsx";
import { Filters } from "./filters.tsx";
import { dayQuery, noFilter, runningQuery } from "./list-filter.ts";
import { ListWindow } from "./list-window.tsx";
import { countOf, grouped, type Grouping, type ListGroup } from "./list-groups.ts";
import { SessionLine } from "./session-line.tsx";
import { StopBar } from "./stop-bar.tsx";
import { useRowPixels } from "./row-pixels.ts";
import { useCounts } from "./use-counts.ts";

/** One row of the list: the head of a group, or a session. */
type ListItem = { key: string; group: ListGroup; session: SessionSummary | null };

/** Height of the head of a group, as the style sheet has it. */
const headPixels = 36;

/** All sessions of the host: what waits, what runs and what ran, one line each. */
export function Sessions() {
  const { found, sessions } = useConsole();
  const canRun = useMay("run");
  const [group, setGroup] = useState<Grouping>("state");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const search = useRef<HTMLInputElement>(null);
  const now = useClock();
  const { items, folded, fold } = useItems(group, now);
  const [running, queued, filter] = [found.running.value, sessions.queued.value, found.filter.value];
  const picked = running.filter(({ session_id }) => selected.has(session_id)).map(({ session_id }) => session_id);
  const pick = (ids: readonly string[]) => setSelected(new Set(ids));
  const select = (id: string) => setSelected(toggled(selected, id));
  const lines = { items, group, now, folded, fold, selected, select };
  useLineKeys({ ...lines, search });
  return (
    <Screen
      title="Sessions"
      lead={<Lead />}
      actions={canRun ? <Actions running={running} picked={picked} pick={pick} /> : undefined}
    >
      <Filters
        filter={filter}
        ask={(change) => found.ask(change)}
        counts={found.counts.value}
        live={liveCounts(running, queued)}
        group={group}
        setGroup={setGroup}
        search={search}
      />
      {canRun && <StopBar picked={picked} clear={() => pick([])} />}
      {isFile(filter.text) && <ChangedFile name={filter.text.trim()} />}
      <NotRead />
      {items.length === 0 && <NoLine />}
      {items.length > 0 && <Lines {...lines} canSelect={canRun} />}
    </Screen>
  );
}

/** The heads of groups and the sessions below them, and which groups are folded. */
function useItems(group: Grouping, now: number) {
  const { found, sessions } = useConsole();
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => found.open(), []);
  const all = { running: found.running.value, ended: found.ended.value };
  const items = grouped(all, group, { now, queued: sessions.queued.value }).flatMap((one): ListItem[] => [
    { key: `group ${one.key}`, group: one, session: null },
    ...(folded.has(one.key) ? [] : one.sessions).map((session) => ({ key: session.session_id, group: one, session })),
  ]);
  return { items, folded, fold: (key: string) => setFolded(toggled(folded, key)) };
}

/** Says that the lines are not those of now. */
function NotRead() {
  const state = useConsole().found.state.value;
  return typeof state === "object" ? <Failed of={state.failed} /> : null;
}

/** Says why there is no line. */
function NoLine() {
  const { found } = useConsole();
  const state = found.state.value;
  if (typeof state === "object") return null;
  if (state === "loading") return <p class="quiet-line">Reading the sessions …</p>;
  return found.filter.value === noFilter ? <NoSession /> : <NoMatch />;
}

function Lead() {
  const { found } = useConsole();
  const counts = found.counts.value;
  const { standing } = found.filter.value;
  if (counts === null) return <>Everything that runs or ran on this host</>;
  // The host counts what runs as running only.
  const total = runningQuery(found.filter.value) !== null && standing !== null
    ? found.running.value.length
    : counts.total;
  return (
    <span>
      <b>{total.toLocaleString("en")}</b> {total === 1 ? "session" : "sessions"}
      {standing === null && `, ${counts.states.running} of them running`}
    </span>
  );
}

interface ActionsProps {
  running: readonly SessionSummary[];
  picked: readonly string[];
  pick(ids: readonly string[]): void;
}

function Actions({ running, picked, pick }: ActionsProps) {
  const { stopping } = useConsole();
  const all = running.map(({ session_id }) => session_id);
  return (
    <>
      {all.length > 1 && picked.length < all.length && (
        <button type="button" onClick={() => pick(all)}>Select all running</button>
      )}
      {all.length > 0 && (
        <button type="button" class="danger" onClick={() => (pick([]), stopping.begin(all))}>
          Stop all {all.length}
        </button>
      )}
      <a class="button primary" href={addressOf("start")}>Start a session</a>
    </>
  );
}

interface LinesProps {
  items: readonly ListItem[];
  group: Grouping;
  now: number;
  folded: ReadonlySet<string>;
  fold(key: string): void;
  selected: ReadonlySet<string>;
  select(id: string): void;
  canSelect: boolean;
}

function Lines({ items, group: by, now, folded, fold, selected, select, canSelect }: LinesProps) {
  const { found, sessions: { queued } } = useConsole();
  const rowPixels = useRowPixels();
  const draw = (index: number) => {
    const { key, group, session } = items[index]!;
    if (session === null) {
      return <GroupHead key={key} of={group} by={by} isFolded={folded.has(group.key)} fold={() => fold(group.key)} />;
    }
    const { session_id: id, state } = session;
    return (
      <SessionLine
        key={key}
        session={session}
        now={now}
        queued={queued.value}
        isSelected={selected.has(id)}
        select={canSelect && state === "running" ? () => select(id) : undefined}
      />
    );
  };
  const pixels = items.map(({ session }) => session === null ? headPixels : rowPixels);
  return <ListWindow pixels={pixels} draw={draw} nearEnd={() => void found.more()} />;
}

function GroupHead({ of: group, by, isFolded, fold }: {
  of: ListGroup;
  by: Grouping;
  isFolded: boolean;
  fold(): void;
}) {
  const { found } = useConsole();
  const { key, title, sessions, day } = group;
  const isOpenEnd = found.next.value !== null && key === "ended";
  const counts = found.counts.value;
  const ended = counts === null || !isOpenEnd ? 0 : endedOf(counts, found.filter.value.standing);
  const count = Math.max(ended, countOf(group, { by, counts }));
  return (
    <li class={`line-head head-${key === "waiting" || key === "silent" ? key : "plain"}`}>
      <button type="button" class="plain" aria-expanded={!isFolded} onClick={fold}>
        <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span> {title} {day === undefined
          ? <span class="count">{count.toLocaleString("en")}</span>
          : <DayCount day={day} here={sessions.length} />}
      </button>
      {key === "waiting" && <a href={addressOf("needs-you")}>Needs you</a>}
    </li>
  );
}

/** Returns how many sessions have ended, of those in a state where one is chosen. */
function endedOf({ total, states }: SessionCounts, standing: Standing | null): number {
  return standing === null ? states.completed + states.blocked + states.error + states.interrupted : total;
}

/** Sessions of a day, which the host counts once the day is in view. */
function DayCount({ day, here }: { day: string; here: number }) {
  const { found } = useConsole();
  const counts = useCounts(dayQuery(found.filter.value, day));
  return <span class="count">{Math.max(here, counts?.total ?? 0).toLocaleString("en")}</span>;
}

function liveCounts(running: readonly SessionSummary[], queued: ReadonlySet<string>): ReadonlyMap<Standing, number> {
  const counts = new Map<Standing, number>();
  for (const session of running) {
    const standing = standingOf(session, queued);
    counts.set(standing, (counts.get(standing) ?? 0) + 1);
  }
  return counts;
}

/** Rises while sessions run each second, for their clocks, and else twice a minute. */
function useClock(): number {
  const { found } = useConsole();
  const [now, setNow] = useState(Date.now());
  const everyMs = found.running.value.length > 0 ? 1000 : 30_000;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  // A list that was just read must not seem to come from the future.
  return Math.max(now, Date.now() - everyMs);
}

interface LineKeysProps {
  items: readonly ListItem[];
  search: RefObject<HTMLInputElement | null>;
  select(id: string): void;
}

/** Moves through the lines, selects one, and goes to the search, by keys. */
function useLineKeys({ items, search, select }: LineKeysProps): void {
  const at = useRef<string | null>(null);
  const move = (by: number) => {
    const all = items.flatMap(({ session }) => session === null ? [] : session.session_id);
    const before = at.current === null ? -1 : all.indexOf(at.current);
    const id = all[Math.max(0, Math.min(before + by, all.length - 1))];
    if (id === undefined) return;
    at.current = id;
    document.querySelector<HTMLElement>(`.session-line a.session-title[href="${addressOf("sessions", id)}"]`)?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () =>
      items.some(({ session }) => session?.session_id === at.current && session.state === "running") &&
      select(at.current!),
    "/": () => search.current?.focus(),
    "+": () => goTo("start"),
  });
}

function NoSession() {
  return (
    <Empty title="No session yet">
      <p>
        Start one here, or see what it looks like: <Command text="bulkhead demo" />
      </p>
      <May right="run">
        <p>
          <a class="button primary" href={addressOf("start")}>Start a session</a>
        </p>
      </May>
    </Empty>
  );
}

function NoMatch() {
  const { found } = useConsole();
  return (
    <Empty title="No session matches">
      <p>All sessions of this host were searched.</p>
      <p>
        <button type="button" onClick={() => found.ask(noFilter)}>Clear all filters</button>
      </p>
    </Empty>
  );
}
