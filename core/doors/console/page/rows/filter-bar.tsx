import { useEffect, useMemo, useState } from "preact/hooks";
import { type EventMark, eventMarks } from "../../../../ground/checks/event-marks.ts";
import { useKeys } from "../keys.ts";
import type { TalkTimeline } from "../talk/talk-lines.tsx";
import type { TimelineAim, TimelinePart } from "../timeline-layout.ts";
import { blocksWith, type SessionMarks, sumOf } from "./session-marks.ts";

type EventsPart = Extract<TimelinePart, { kind: "events" }>;

/** The rows of a timeline that are shown, and the failure to which a person went last. */
interface Filtered {
  parts: readonly TimelinePart[];
  mark: EventMark | null;
  choose: (mark: EventMark | null) => void;
  counts: Record<EventMark, number> | null;
  target: TimelineAim | null;
  nextFailure: () => void;
  /** Shows an event, among all rows. */
  go: (place: { session_id: string; seq: number }) => void;
  /** The sessions whose events are shown, in order. */
  ids: readonly string[];
}

/** Shows only what is of one kind, over all events of the sessions. */
export function useFilter({ parts, target, marksOf }: Pick<TalkTimeline, "parts" | "target" | "marksOf">): Filtered {
  const [mark, setMark] = useState<EventMark | null>(null);
  const [aim, setAim] = useState<TimelineAim | null>(null);
  const shown = parts.filter((part) => part.kind === "events");
  const ids = [...new Set(shown.map(({ place }) => place.session_id))];
  const marks = ids.map((id) => marksOf(id).marks.value);
  const filtered = useMemo(() => mark === null ? parts : parts.map((part) => only(part, mark, marksOf)), [
    parts,
    mark,
    ...marks,
  ]);
  for (const part of shown) part.events.isSparse = mark !== null;
  // A link to an event shows it, whatever was shown before.
  useEffect(() => {
    setAim(null);
    setMark(null);
  }, [target?.session_id, target?.seq]);
  const choose = (next: EventMark | null) => {
    for (const id of ids) marksOf(id).want();
    setAim(null);
    setMark(next);
  };
  const nextFailure = () => {
    for (const id of ids) marksOf(id).want();
    setAim((before) => failureAfter(before, shown, marksOf) ?? before);
  };
  const go = ({ session_id, seq }: { session_id: string; seq: number }) => {
    setMark(null);
    setAim((before) => ({ session_id, seq, key: nextKey(before) }));
  };
  return { parts: filtered, mark, choose, counts: sumOf(marks), target: aim ?? target, nextFailure, go, ids };
}

function only(part: TimelinePart, mark: EventMark, marksOf: (id: string) => SessionMarks): TimelinePart {
  if (part.kind === "head") return part;
  const marks = marksOf(part.place.session_id).marks.value;
  return { ...part, only: { mark, blocks: marks === null ? [] : blocksWith(marks, mark, part) } };
}

/** The failure after the one to which a person went last; the first one after the last. */
function failureAfter(
  before: TimelineAim | null,
  parts: readonly EventsPart[],
  marksOf: (id: string) => SessionMarks,
): TimelineAim | null {
  const all = parts.flatMap(({ place: { session_id }, from, to }) =>
    (marksOf(session_id).marks.value?.failures ?? []).filter((seq) => from <= seq && seq <= (to ?? Infinity))
      .map((seq) => ({ session_id, seq }))
  );
  const at = all.findIndex(({ session_id, seq }) => session_id === before?.session_id && seq === before.seq);
  const next = all[at + 1] ?? all[0];
  return next === undefined ? null : { ...next, key: nextKey(before) };
}

/** Another key each time, so that the view goes there again after a person has scrolled away. */
function nextKey(before: TimelineAim | null): string {
  return `place-${Number(before?.key.split("-")[1] ?? 0) + 1}`;
}

const names: Readonly<Record<EventMark, string>> = {
  said: "Said",
  tools: "Tools",
  edits: "Edits",
  failures: "Failures",
  asked: "Asked",
};

/** Chooses what of a session is shown, with counts over all of it, and goes from failure to failure. */
export function FilterBar({ of: { mark, choose, counts, nextFailure } }: { of: Filtered }) {
  const order = [null, ...eventMarks];
  useKeys({
    f: () => choose(order[(order.indexOf(mark) + 1) % order.length] ?? null),
    n: nextFailure,
  });
  return (
    <div class="chips filter-bar" role="group" aria-label="Show of this session">
      <button type="button" class="chip" aria-pressed={mark === null} onClick={() => choose(null)}>All</button>
      {eventMarks.map((one) => (
        <button
          type="button"
          class="chip"
          aria-pressed={mark === one}
          disabled={counts?.[one] === 0 && mark !== one}
          onClick={() => choose(one)}
        >
          {names[one]} {counts !== null && <span class="count">{counts[one].toLocaleString("en")}</span>}
        </button>
      ))}
      {mark !== null && counts === null && <span class="quiet-line" role="status">Counting …</span>}
      <button type="button" class="next-failure" disabled={counts?.failures === 0} onClick={nextFailure}>
        Next failure <kbd>n</kbd>
      </button>
    </div>
  );
}
