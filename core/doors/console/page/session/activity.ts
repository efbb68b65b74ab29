import { type Signal, signal } from "@preact/signals";

/** A moment of a session. */
export interface ActivityPoint {
  seq: number;
  /** Milliseconds. */
  at: number;
}

/** Reads what the host has kept; `at` is in RFC 3339, UTC. */
type ReadActivity = (signal: AbortSignal) => Promise<{ points: { seq: number; at: string }[] }>;

/** Between two points that are added while events come. Milliseconds. */
const everyMs = 1000;
/** Points that are kept; beyond them every other one goes. */
const mostPoints = 2000;

/** When the events of a session came: some of them that are equally far apart, for one of any length, then the new ones. */
export class Activity {
  readonly points: Signal<readonly ActivityPoint[]> = signal([]);
  readonly #over = new AbortController();
  readonly #leave: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param last the number of the newest event, as it comes */
  constructor(read: ReadActivity, last: Signal<number>) {
    // The strip is an addition: the rows say that the host cannot be reached.
    void read(this.#over.signal).then(({ points }) => {
      this.points.value = points.map(({ seq, at }) => ({ seq, at: Date.parse(at) }));
    }, () => {});
    this.#leave = last.subscribe((seq) => {
      this.#timer ??= setTimeout(() => this.#add(Math.max(seq, last.peek())), everyMs);
    });
  }

  close(): void {
    this.#leave();
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  #add(seq: number): void {
    this.#timer = undefined;
    const points = this.points.peek();
    const last = points.at(-1);
    if (last === undefined || seq <= last.seq) return;
    const kept = points.length < mostPoints ? points : points.filter((_, at) => at % 2 === 0 || at > mostPoints - 4);
    // A clock that is behind the host's must not turn time back.
    this.points.value = [...kept, { seq, at: Math.max(Date.now(), last.at) }];
  }
}

/** Events of each equal part of the time between two moments. */
export function densityOf(
  points: readonly ActivityPoint[],
  { from, to, count }: { from: number; to: number; count: number },
): number[] {
  const bars = new Array<number>(count).fill(0);
  const place = (at: number) => Math.min(count - 1, Math.max(0, Math.floor((at - from) / (to - from || 1) * count)));
  for (const [index, point] of points.entries()) {
    const before = points[index - 1];
    if (before === undefined) {
      bars[place(point.at)]! += 1;
      continue;
    }
    // The second came at its time. Those between them are taken to be equally far apart, or before a silence if they are few.
    const [first, last] = [place(before.at), place(point.at)];
    const between = point.seq - before.seq - 1;
    const end = between < last - first ? first : last;
    for (let bar = first; bar <= end; bar++) bars[bar]! += between / (end - first + 1);
    bars[last]! += 1;
  }
  return bars;
}

/** The number of the event at a moment, about. */
export function seqAt(points: readonly ActivityPoint[], at: number): number {
  const next = points.findIndex((point) => point.at >= at);
  const [before, after] = [points[next - 1], points[next]];
  if (after === undefined) return points.at(-1)?.seq ?? 1;
  if (before === undefined) return after.seq;
  const part = (at - before.at) / (after.at - before.at || 1);
  return Math.round(before.seq + part * (after.seq - before.seq));
}

/** The moment of an event, about. */
export function momentOf(points: readonly ActivityPoint[], seq: number): number {
  const next = points.findIndex((point) => point.seq >= seq);
  const [before, after] = [points[next - 1], points[next]];
  if (after === undefined) return points.at(-1)?.at ?? 0;
  if (before === undefined) return after.at;
  return before.at + (seq - before.seq) / (after.seq - before.seq || 1) * (after.at - before.at);
}
