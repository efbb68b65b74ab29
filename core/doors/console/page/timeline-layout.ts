import type { EventMark } from "../../../ground/checks/event-marks.ts";
import type { SessionEvents } from "./session-events.ts";
import { blockOf, blockSize } from "./shown-event.ts";

/** The place of a row: its session, and whether turns divide the timeline. */
export interface RowPlace {
  session_id: string;
  isDivided: boolean;
}

/** One part of a timeline: a head, or a session's events from one number to another. */
export type TimelinePart =
  | { key: string; kind: "head"; draw: () => preact.ComponentChildren }
  | {
    key: string;
    kind: "events";
    events: SessionEvents;
    place: RowPlace;
    from: number;
    /** Null: it has all that follows. */
    to: number | null;
    /** Absent: all of it is shown. */
    only?: OnlyMarked;
  };

/** A part of which only the rows of one kind are shown, which are in these blocks. */
interface OnlyMarked {
  mark: EventMark;
  /** In order. */
  blocks: readonly number[];
}

/** An item of a timeline: a head, or a block of events. */
type TimelineItem = { key: string; part: TimelinePart; block: number };

/** The items of a timeline by their numbers, without a list of them. */
export class TimelineLayout {
  readonly parts: readonly TimelinePart[];
  readonly count: number;
  readonly #starts: number[] = [];

  constructor(parts: readonly TimelinePart[]) {
    this.parts = parts;
    let count = 0;
    for (const part of parts) {
      this.#starts.push(count);
      count += part.kind === "head" ? 1 : blocksOf(part).count;
    }
    this.count = count;
  }

  /** Whether the items of another layout are the first ones of this one. */
  continues(other: TimelineLayout): boolean {
    return this.parts === other.parts && this.count >= other.count &&
      this.#starts.every((start, at) => start === other.#starts[at]);
  }

  item(index: number): TimelineItem {
    const at = this.#starts.findLastIndex((start) => start <= index);
    const part = this.parts[at];
    if (part === undefined) throw new Error("A timeline has no such item.");
    const block = part.kind === "head" ? 0 : blockAt(part, index - (this.#starts[at] ?? 0));
    return { key: keyOf(part, block), part, block };
  }

  /** Returns the number of a session's event's item; that of a part with this key where there is no such event. */
  find({ session_id, seq, key }: TimelineAim): number {
    const at = this.parts.findIndex((part) =>
      seq === null ? part.key === key : part.kind === "events" && part.place.session_id === session_id &&
        part.from <= seq && seq <= (part.to ?? Infinity)
    );
    const part = this.parts[at];
    const start = this.#starts[at] ?? 0;
    if (part === undefined || part.kind === "head" || seq === null) return start;
    const block = blockOf(seq);
    if (part.only === undefined) return start + block - blocksOf(part).first;
    const place = part.only.blocks.findIndex((one) => one >= block);
    return start + (place < 0 ? Math.max(0, part.only.blocks.length - 1) : place);
  }

  /** Returns the numbers of all items by their keys. */
  keys(): Map<string, number> {
    return new Map(Array.from({ length: this.count }, (_, index) => [this.item(index).key, index]));
  }
}

/** The place where a reader of a timeline begins: an event of a session, or a part. */
export interface TimelineAim {
  session_id: string;
  seq: number | null;
  key: string;
}

/** A block has the same key wherever it stands, so that its height is known after its turn got a head. */
function keyOf(part: TimelinePart, block: number): string {
  if (part.kind === "head") return part.key;
  const rest = part.from > block * blockSize + 1 ? `+${part.from}` : "";
  return `${part.place.session_id}/${block}${rest}`;
}

type EventsPart = Extract<TimelinePart, { kind: "events" }>;

/** Returns the number of a part's block by its place among those that are shown. */
function blockAt(part: EventsPart, place: number): number {
  return part.only === undefined ? blocksOf(part).first + place : part.only.blocks[place] ?? 0;
}

function blocksOf({ from, to, events, only }: EventsPart): { first: number; count: number } {
  if (only !== undefined) return { first: only.blocks[0] ?? 0, count: only.blocks.length };
  const last = Math.min(to ?? Infinity, events.last.value);
  const first = blockOf(from);
  return { first, count: last < from ? 0 : blockOf(last) - first + 1 };
}
