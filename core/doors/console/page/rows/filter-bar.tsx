import { useEffect, useMemo, useState } from "preact/hooks";
import { type EventMark, eventMarks } from "../../../../ground/checks/event-marks.ts";
import { useKeys } from "../keys.ts";
import type { TalkTimeline } from "../talk/talk-lines.tsx";
import type { TimelineAim, TimelinePart } from "../timeline-layout.ts";
import { blocksWith, countsOf, type PlaceKind, type SessionMarks, sumOf } from "./session-marks.ts";

type EventsPart = Extract<TimelinePart, { kind: "events" }>;

/** The rows of a timeline that are shown, and the place to which a person went last. */
interface Filtered {
  parts: readonly TimelinePart[];
  mark: EventMark | null;
  choose: (mark: EventMark | null) => void;
  counts: Record<EventMark, number> | null;
  target: TimelineAim | null;
  /** Goes to the next place of a kind; to the first after the last. */
  next: (kind: PlaceKind) => void;
  /** How many places of each kind there are; null until they are counted. */
  placeCounts: Record<PlaceKind, number> | null;
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
  const next = (kind: PlaceKind) => {
    for (const id of ids) marksOf(id).want();
    setAim((before) => placeAfter(before, { kind, parts: shown, marksOf }) ?? before);
  };
  const go = ({ session_id, seq }: { session_id: string; seq: number }) => {
    setMark(null);
    setAim((before) => ({ session_id, seq, key: nextKey(before) }));
  };
  const counted = { counts: sumOf(marks), placeCounts: countsOf(marks) };
  return { parts: filtered, mark, choose, ...counted, target: aim ?? target, next, go, ids };
}

function only(part: TimelinePart, mark: EventMark, marksOf: (id: string) => SessionMarks): TimelinePart {
  if (part.kind === "head") return part;
  const marks = marksOf(part.place.session_id).marks.value;
  return { ...part, only: { mark, blocks: marks === null ? [] : blocksWith(marks, mark, part) } };
}

/** The place after the one to which a person went last; the first one after the last. */
function placeAfter(
  before: TimelineAim | null,
  { kind, parts, marksOf }: { kind: PlaceKind; parts: readonly EventsPart[]; marksOf: (id: string) => SessionMarks },
): TimelineAim | null {
  const all = parts.flatMap(({ place: { session_id }, from, to }) =>
    (marksOf(session_id).marks.value?.places[kind] ?? []).filter((seq) => from <= seq && seq <= (to ?? Infinity))
      .map((seq) => ({ session_id, seq }))
  );
  // A person may have gone to a place of another kind in between.
  const order = parts.map(({ place }) => place.session_id);
  const here = before === null ? -1 : order.indexOf(before.session_id);
  const isLater = (one: { session_id: string; seq: number }) => {
    const session = order.indexOf(one.session_id);
    return session > here || session === here && one.seq > (before?.seq ?? 0);
  };
  const next = all.find(isLater) ?? all[0];
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

const jumps = [
  { kind: "failures", name: "failure", key: "n" },
  { kind: "edits", name: "edit", key: "i" },
  { kind: "denials", name: "denial", key: "d" },
] as const satisfies readonly { kind: PlaceKind; name: string; key: string }[];

/** Chooses what of a session is shown, with counts over all of it, and goes from failure to failure and the like. */
export function FilterBar({ of: { mark, choose, counts, next, placeCounts } }: { of: Filtered }) {
  const order = [null, ...eventMarks];
  useKeys({
    f: () => choose(order[(order.indexOf(mark) + 1) % order.length] ?? null),
    ...Object.fromEntries(jumps.map(({ kind, key }) => [key, () => next(kind)])),
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
      <span class="next-marks">
        {jumps.filter(({ kind }) => kind === "failures" || (placeCounts?.[kind] ?? 0) > 0).map((
          { kind, name, key },
        ) => (
          <button type="button" class="next-mark" disabled={placeCounts?.[kind] === 0} onClick={() => next(kind)}>
            Next {name} <kbd>{key}</kbd>
          </button>
        ))}
      </span>
    </div>
  );
}
