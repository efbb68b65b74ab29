import { type Signal, signal } from "@preact/signals";
import { type EventMark, eventMarks } from "../../../../ground/checks/event-marks.ts";
import type { MarkCounts, MarkPlaces } from "../../../http/count-marks.ts";
import type { HostApi } from "../api.ts";
import type { SessionEvents } from "../session-events.ts";
import { blockOf, blockSize } from "../shown-event.ts";

/** Sessions with more events are counted once a person asks for it. */
const mostUnasked = 100_000;
/** Events that come close together are counted about once. */
const soonMs = 1000;

/** Places of what a person looks for in a session, as the host counts them over all its events. */
interface Marks {
  /** Counts by the number of the block. */
  blocks: ReadonlyMap<number, MarkCounts>;
  places: Readonly<Record<keyof MarkPlaces, readonly number[]>>;
  sums: Readonly<Record<EventMark, number>>;
}

/** Counts of a session's events by block, kept as new as the session while they are shown. */
export class SessionMarks {
  /** Null until the whole session was counted. */
  readonly marks: Signal<Marks | null> = signal(null);
  readonly #api: HostApi;
  readonly #events: SessionEvents;
  readonly #path: string;
  readonly #over = new AbortController();
  readonly #leave: () => void;
  #isWanted = false;
  /** Number up to which it is counted, and whether a count runs. */
  #counted = 0;
  #isCounting = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: HostApi, { id, events }: { id: string; events: SessionEvents }) {
    this.#api = api;
    this.#events = events;
    this.#path = `/v1/sessions/${encodeURIComponent(id)}/marks`;
    this.#leave = events.last.subscribe(() => this.#soon());
  }

  /** Counts a session of any length. */
  want = (): void => {
    if (this.#isWanted) return;
    this.#isWanted = true;
    void this.#count();
  };

  close(): void {
    this.#leave();
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#count();
    }, this.marks.peek() === null ? 0 : soonMs);
  }

  async #count(): Promise<void> {
    const last = this.#events.last.peek();
    if (this.#isCounting || last <= this.#counted || last > mostUnasked && !this.#isWanted) return;
    this.#isCounting = true;
    try {
      // An answer in the last block counts in the one before it.
      const from = Math.max(0, (Math.floor(this.#counted / blockSize) - 1) * blockSize);
      const known = this.marks.peek();
      const blocks = new Map([...known?.blocks ?? []].filter(([block]) => block * blockSize < from));
      const places = mapPlaces((name) => (known?.places[name] ?? []).filter((seq) => seq <= from));
      for (let after: number | null = from; after !== null;) {
        const { signal } = this.#over;
        const query = { after, step: blockSize };
        const read: MarkPlaces & { groups: MarkCounts[]; next: number | null } = await this.#api.get(
          this.#path,
          query,
          signal,
        );
        for (const group of read.groups) blocks.set(blockOf(group.first), group);
        for (const name of placeNames) places[name].push(...read[name]);
        after = read.next;
      }
      this.#counted = last;
      for (const name of placeNames) places[name].sort((a, b) => a - b);
      this.marks.value = { blocks, places, sums: summed([...blocks.values()]) };
    } catch {
      // Counts are an addition: the rows themselves say that the host cannot be reached. The next event counts again.
    } finally {
      this.#isCounting = false;
    }
    if (this.#events.last.peek() > this.#counted && !this.#over.signal.aborted) this.#soon();
  }
}

/** A kind of places to which a person goes one by one. */
export type PlaceKind = keyof MarkPlaces;

/** Returns how many places of each kind there are in all sessions; null where one is not counted. */
export function countsOf(all: readonly (Marks | null)[]): Record<PlaceKind, number> | null {
  if (all.some((marks) => marks === null)) return null;
  const count = (name: PlaceKind) => all.reduce((sum, marks) => sum + (marks?.places[name].length ?? 0), 0);
  return { failures: count("failures"), edits: count("edits"), denials: count("denials") };
}

const placeNames = ["failures", "edits", "denials"] as const;

function mapPlaces(of: (name: keyof MarkPlaces) => number[]): MarkPlaces {
  return { failures: of("failures"), edits: of("edits"), denials: of("denials") };
}

/** Returns how much of each kind there is in all sessions; null where one is not counted. */
export function sumOf(all: readonly (Marks | null)[]): Record<EventMark, number> | null {
  return all.some((marks) => marks === null) ? null : summed(all.flatMap((marks) => marks?.sums ?? []));
}

function summed(all: readonly Readonly<Record<EventMark, number>>[]): Record<EventMark, number> {
  const sums = Object.fromEntries(eventMarks.map((mark) => [mark, 0])) as Record<EventMark, number>;
  for (const counts of all) for (const mark of eventMarks) sums[mark] += counts[mark];
  return sums;
}

/** Returns the blocks with something of a kind, from one number to another, in order. */
export function blocksWith(marks: Marks, mark: EventMark, { from, to }: { from: number; to: number | null }): number[] {
  return [...marks.blocks].filter(([block, counts]) =>
    counts[mark] > 0 && (block + 1) * blockSize >= from && block * blockSize < (to ?? Infinity)
  ).map(([block]) => block).sort((a, b) => a - b);
}
