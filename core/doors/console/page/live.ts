import { type Signal, signal } from "@preact/signals";
import { readEvent, type ShownEvent } from "./shown-event.ts";
import { type HostApi, lineGroups, RefusedCall } from "./api.ts";

/** Whether the host's events arrive; `lost` says since when they do not. */
type Line = { state: "opening" } | { state: "open" } | { state: "lost"; since: Date; why: string } | {
  state: "refused";
  why: string;
};

/** Takes the new events, in their order. */
type EventTaker = (envelopes: readonly ShownEvent[]) => void;

/** Milliseconds of reading before the page gets its next frame. */
const longestTurn = 5;
/** A host sends a sign of life more often than this. */
const silenceMs = 45_000;
const retryMs = 500;
/** How long a tab that is not seen keeps the stream: all tabs of a host share six connections. */
const behindMs = 5000;

/** The one stream of the host's events that feeds every screen. Resumes after the last event that was read. */
export class LiveEvents {
  readonly line: Signal<Line> = signal<Line>({ state: "opening" });
  /** Rises each time the stream opens: lists read themselves again, since the stream tells only what is new. */
  readonly opened: Signal<number> = signal(0);
  #api: HostApi;
  #takers = new Set<EventTaker>();
  readonly #over = new AbortController();
  #last: number | undefined;
  #cursor: string | undefined;

  constructor(api: HostApi) {
    this.#api = api;
  }

  /** Hands new events to a taker until the returned function is called. */
  subscribe(taker: EventTaker): () => void {
    this.#takers.add(taker);
    return () => this.#takers.delete(taker);
  }

  /** Ends the stream for good, and says why. */
  end(why: string): void {
    this.line.value = { state: "refused", why };
    this.#over.abort();
  }

  /** Reads until the host refuses it or the page ends it, through every restart of the host. */
  async follow(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const leave = await turnOf(signal);
      const isBehind = () => document.hidden && leave === null && "locks" in navigator;
      try {
        await this.#readOnce(signal, isBehind);
        if (isBehind()) continue;
        this.#lose("The host closed the stream.");
      } catch (error) {
        if (error instanceof RefusedCall && (error.status === 401 || error.status === 403)) {
          return this.end(error.message);
        }
        if (isBehind()) continue;
        this.#lose(error instanceof RefusedCall ? error.message : "The connection broke.");
      } finally {
        leave?.();
      }
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }

  async #readOnce(signal: AbortSignal, isBehind: () => boolean): Promise<void> {
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const hide = () => void setTimeout(() => isBehind() && end(), behindMs);
    document.addEventListener("visibilitychange", hide, { signal: over.signal });
    let silent = setTimeout(end, silenceMs);
    try {
      const where = this.#cursor === undefined ? { after: this.#last } : { cursor: this.#cursor };
      const response = await this.#api.open("/v1/events", where, over.signal);
      this.line.value = { state: "open" };
      this.opened.value += 1;
      for await (const lines of lineGroups(response)) {
        clearTimeout(silent);
        silent = setTimeout(end, silenceMs);
        await this.#take(lines);
      }
    } finally {
      clearTimeout(silent);
      signal.removeEventListener("abort", end);
      over.abort();
    }
  }

  async #take(lines: readonly string[]): Promise<void> {
    let began = performance.now();
    let batch: ShownEvent[] = [];
    for (const line of lines) {
      const envelope = readEvent(line);
      if (envelope.cursor !== undefined) this.#cursor = envelope.cursor;
      else if (this.#last !== undefined && envelope.gseq <= this.#last) continue;
      else this.#last = envelope.gseq;
      batch.push(envelope);
      if (performance.now() - began < longestTurn) continue;
      this.#hand(batch);
      batch = [];
      await new Promise((done) => setTimeout(done));
      began = performance.now();
    }
    this.#hand(batch);
  }

  #hand(batch: readonly ShownEvent[]): void {
    if (batch.length === 0) return;
    for (const taker of this.#takers) taker(batch);
  }

  #lose(why: string): void {
    if (this.line.value.state === "lost" || this.#over.signal.aborted) return;
    this.line.value = { state: "lost", since: new Date(), why };
  }
}

/**
 * Waits until the tab is seen, or no other tab behind has the stream: one of them has it, for its notifications.
 * @returns how to leave it to another tab; null where it was not asked for
 */
async function turnOf(signal: AbortSignal): Promise<(() => void) | null> {
  if (!document.hidden || !("locks" in navigator)) return null;
  const seen = new AbortController();
  const either = AbortSignal.any([seen.signal, signal]);
  document.addEventListener("visibilitychange", () => seen.abort(), { signal: either });
  return await new Promise((take) => {
    const held = () => new Promise<void>((leave) => take(leave));
    navigator.locks.request("bulkhead-events", { signal: either }, held).catch(() => take(null));
  });
}
