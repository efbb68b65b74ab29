import { useEffect, useMemo, useState } from "preact/hooks";
import { useConsole } from "../console-context.ts";
import { toggled } from "../parts.tsx";
import { SessionMarks } from "../rows/session-marks.ts";
import { SessionEvents } from "../session-events.ts";
import type { Talk } from "./talk.ts";
import type { SessionPart, ShownTurn } from "./talk-turns.ts";
import type { RowPlace, TimelineAim, TimelinePart } from "../timeline-layout.ts";
import { TurnFiles } from "./turn-files.tsx";
import { SessionHead, TurnHead } from "./turn-head.tsx";

/** A conversation as the parts of a timeline. */
export interface TalkTimeline {
  parts: readonly TimelinePart[];
  target: TimelineAim | null;
  /** Rises when a person opens or closes a turn, or its files. */
  folded: number;
  eventsOf(id: string): SessionEvents;
  /** Places of what a person looks for in a session. */
  marksOf(id: string): SessionMarks;
}

interface TalkLinesOptions {
  /** The session that was opened, and its event to show first. */
  opened: string;
  seq: number | null;
  /** The session whose facts are shown, and the `seq` of its newest event. */
  shown: { id: string; last: number };
}

/** Events of one session, and the places of its rows where turns divide the timeline and where not. */
interface SessionLog {
  events: SessionEvents;
  marks: SessionMarks;
  plain: RowPlace;
  divided: RowPlace;
}

/**
 * Lays a conversation out: its sessions one after the other, each turn under its head; those that were over when the page
 * opened it are closed. A session of one turn is its events alone.
 */
export function useTalkLines(talk: Talk, { opened, seq, shown }: TalkLinesOptions): TalkTimeline {
  const logOf = useLogs(talk, shown);
  const [folds, setFolds] = useState<{ of: ReadonlyMap<number, boolean>; count: number }>({ of: new Map(), count: 0 });
  const sessions = talk.parts.value;
  const isAway = talk.first !== null && talk.first.head !== opened;
  const isOpen = (turn: ShownTurn) => {
    const isWanted = turn.session_id === opened && (isAway || seq !== null && isIn(turn, seq));
    return folds.of.get(turn.turn) ?? (isWanted || talk.first?.past.has(turn.turn) !== true);
  };
  const [filesOf, setFilesOf] = useState<{ of: ReadonlySet<number>; count: number }>({ of: new Set(), count: 0 });
  const view: TurnView = {
    isOpen,
    toggle: ({ turn }, isNow) =>
      setFolds(({ of, count }) => ({ of: new Map([...of, [turn, isNow]]), count: count + 1 })),
    hasFiles: ({ turn }) => filesOf.of.has(turn),
    toggleFiles: ({ turn }) => setFilesOf(({ of, count }) => ({ of: toggled(of, turn), count: count + 1 })),
  };
  const parts = useMemo(() => {
    if (sessions.length > 0) return sessions.flatMap((part, at) => partsOf(part, { at, talk, logOf, view }));
    const { events, plain } = logOf(opened);
    return [{ key: opened, kind: "events" as const, events, place: plain, from: 1, to: null }];
  }, [sessions, folds, filesOf, opened, seq, logOf]);
  const target = seq === null && !(isAway && sessions.length > 0)
    ? null
    : { session_id: opened, seq, key: firstKey(sessions, opened) };
  return {
    parts,
    target,
    folded: folds.count + filesOf.count,
    eventsOf: (id) => logOf(id).events,
    marksOf: (id) => logOf(id).marks,
  };
}

/** The events of the conversation's sessions, each opened when it is asked for first. */
function useLogs(talk: Talk, shown: TalkLinesOptions["shown"]): (id: string) => SessionLog {
  const found = useConsole();
  const logs = useMemo(() => new Map<string, SessionLog>(), [talk]);
  const list = found.sessions.all.value;
  const sessions = talk.parts.value;
  const lastOf = (id: string) =>
    Math.max(
      id === shown.id ? shown.last : 0,
      list.find(({ session_id }) => session_id === id)?.last_seq ?? 0,
      sessions.find(({ session_id }) => session_id === id)?.last ?? 0,
    );
  useEffect(() => {
    for (const [id, { events }] of logs) events.extend(lastOf(id));
  }, [list, sessions, shown.last]);
  useEffect(() => () => logs.forEach(({ events, marks }) => (marks.close(), events.close())), [logs]);
  return useMemo(() => (id: string) => {
    const known = logs.get(id);
    if (known !== undefined) return known;
    const events = new SessionEvents(found, { id, last: lastOf(id) });
    const log = {
      events,
      marks: new SessionMarks(found.api, { id, events }),
      plain: { session_id: id, isDivided: false },
      divided: { session_id: id, isDivided: true },
    };
    logs.set(id, log);
    return log;
  }, [logs]);
}

interface PartsOptions {
  at: number;
  talk: Talk;
  logOf: (id: string) => SessionLog;
  view: TurnView;
}

/** Which turns, and which files of them, are shown. */
interface TurnView {
  isOpen(turn: ShownTurn): boolean;
  toggle(turn: ShownTurn, isNow: boolean): void;
  hasFiles(turn: ShownTurn): boolean;
  toggleFiles(turn: ShownTurn): void;
}

function partsOf(part: SessionPart, { at, talk, logOf, view }: PartsOptions): TimelinePart[] {
  const { session_id, turns } = part;
  const { events, divided: place } = logOf(session_id);
  const head = { key: sessionKey(session_id), kind: "head" as const };
  const body = (turn: Pick<ShownTurn, "from" | "to">, key: string): TimelinePart => {
    return { key: `${key}-events`, kind: "events", events, place, from: turn.from, to: turn.to };
  };
  const all = turns.flatMap((turn): TimelinePart[] => {
    const key = turnKey(turn);
    const [isOpen, hasFiles] = [view.isOpen(turn), view.hasFiles(turn)];
    const draw = () => (
      <TurnHead
        talk={talk}
        of={turn}
        isOpen={isOpen}
        toggle={() => view.toggle(turn, !isOpen)}
        hasFiles={hasFiles}
        toggleFiles={() => view.toggleFiles(turn)}
      />
    );
    const files = () => <TurnFiles talk={talk} of={turn} />;
    return [
      { key, kind: "head", draw },
      ...(hasFiles ? [{ key: `${key}-files`, kind: "head" as const, draw: files }] : []),
      ...(isOpen ? [body(turn, key)] : []),
    ];
  });
  return [
    ...(at === 0 ? [] : [{ ...head, draw: () => <SessionHead of={part} number={at + 1} /> }]),
    ...(all.length > 0 ? all : [body({ from: 1, to: null }, head.key)]),
  ];
}

function isIn({ from, to }: ShownTurn, seq: number): boolean {
  return from <= seq && seq <= (to ?? Infinity);
}

function sessionKey(id: string): string {
  return `session-${id}`;
}

function turnKey({ turn }: Pick<ShownTurn, "turn">): string {
  return `turn-${turn}`;
}

/** The first part of a session. */
function firstKey(sessions: readonly SessionPart[], id: string): string {
  const [first] = sessions;
  return first?.session_id === id && first.turns[0] !== undefined ? turnKey(first.turns[0]) : sessionKey(id);
}
