import { type Signal, signal } from "@preact/signals";
import { type HostApi, lineGroups } from "./api.ts";
import type { LiveEvents } from "./live.ts";
import { FoldPlaces } from "./session/fold-places.ts";
import { blockOf, blockSize, readEvent, type ShownEvent } from "./shown-event.ts";

/** Events of one request. */
const pageSize = 200;
const blocksOfPage = pageSize / blockSize;
/** Pages in memory: what is far from the reader is dropped and asked for again. */
const mostPages = 24;
/** Pages in memory while few rows of each are shown, so that many of them are in view. */
const mostSparsePages = 192;
/** Events in memory without their block. */
const mostSingles = 200;
/** Requests at a time: more would wait in the browser, and be for what is out of view by then. */
const mostLoads = 4;
/** Events in a millisecond that replace the whole view several times before an eye sees it. */
const pouring = 1;
/** Time between two draws while events pour in, in milliseconds. */
const restMs = 50;

/** Events of one page that are here, from its first on. */
interface Page {
  /** Each block's events, and the block as it was drawn last; null when it has others since. */
  blocks: { events: ShownEvent[]; drawn: EventBlock | null }[];
  /** `seq` up to which it is known. */
  filledTo: number;
  /** Ends the request for it; null without one. */
  loading: AbortController | null;
  usedAt: number;
}

/** A block to draw. The same object as long as it has the same events. */
export interface EventBlock {
  events: readonly ShownEvent[];
}

/** A block that is not loaded yet. */
export const unknown: EventBlock = { events: [] };

/** A session's events by number: any part of them on demand, the new ones as they come, and never all of them. */
export class SessionEvents {
  /** `seq` of the newest event. */
  readonly last: Signal<number>;
  /** Rises when a block changed, once a frame at most. */
  readonly version: Signal<number> = signal(0);
  readonly failure: Signal<unknown> = signal(null);
  /** Places of rows whose events are far apart. */
  readonly folds: FoldPlaces;
  /** Whether only some rows of its blocks are shown. */
  isSparse = false;
  #api: HostApi;
  #path: string;
  #pages = new Map<number, Page>();
  #newest: number;
  /** Events that are here without their block; null: asked for. */
  #singles = new Map<number, ShownEvent | null>();
  readonly #over = new AbortController();
  #clock = 0;
  #isDrawing = false;
  #drawnAt = 0;
  #isPouring = false;
  #loads = 0;
  #leave: () => void;

  constructor(deps: { api: HostApi; live: LiveEvents }, { id, last }: { id: string; last: number }) {
    this.#api = deps.api;
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    this.#path = `${path}/events`;
    this.last = signal(last);
    this.#newest = last;
    this.folds = new FoldPlaces({
      api: deps.api,
      path,
      last: () => this.#newest,
      step: blockSize,
      changed: () => this.#draw(),
    });
    this.#leave = deps.live.subscribe((envelopes) => {
      for (const envelope of envelopes) {
        if (envelope.session_id === id) this.#append(envelope);
      }
    });
  }

  get blockCount(): number {
    return Math.ceil(this.last.value / blockSize);
  }

  /** One block's events; those that are not here yet are asked for. */
  block(index: number): EventBlock {
    const number = Math.floor(index / blocksOfPage);
    const page = this.#page(number);
    const wanted = Math.min(this.last.value, (index + 1) * blockSize);
    if (page.filledTo < wanted) void this.#load(number);
    return this.peek(index);
  }

  /** A block's events beside one of which only some rows are shown, where there is such a block. */
  beside(index: number): EventBlock {
    return index < 0 || index >= this.blockCount ? unknown : this.block(index);
  }

  /** A block's events as far as they are here; asks for none. */
  peek(index: number): EventBlock {
    const page = this.#pages.get(Math.floor(index / blocksOfPage));
    const block = page?.blocks[index % blocksOfPage];
    if (page === undefined || block === undefined) return unknown;
    const isWhole = page.filledTo >= Math.min(this.last.value, (index + 1) * blockSize);
    if (block.events.length === 0 && !isWhole) return unknown;
    return block.drawn ??= { events: block.events };
  }

  /** Reports a newer end, as a list does after the connection was lost. */
  extend(last: number): void {
    if (last <= this.#newest) return;
    this.#newest = last;
    this.#draw();
  }

  /** Reads events of an agent of the agent. */
  async ofAgent(id: string, query: { after: number; limit: number }, signal: AbortSignal): Promise<ShownEvent[]> {
    return (await this.#read({ ...query, agent: id }, signal)).filter(({ event }) => "agent_id" in event);
  }

  /** One event that stands in a row far from it; one that is not here yet is asked for. */
  single(seq: number): ShownEvent | undefined {
    const known = this.peek(blockOf(seq)).events.find((one) => one.seq === seq);
    if (known !== undefined || this.#singles.has(seq)) return known ?? this.#singles.get(seq) ?? undefined;
    if (this.#singles.size >= mostSingles) this.#singles.clear();
    this.#singles.set(seq, null);
    this.#read({ after: seq - 1, limit: 1 }, this.#over.signal).then(([event]) => {
      if (event?.seq === seq) this.#singles.set(seq, event);
      this.#draw();
    }, () => this.#singles.delete(seq));
    return undefined;
  }

  async #read(query: { after: number; limit: number; agent?: string }, signal: AbortSignal): Promise<ShownEvent[]> {
    const response = await this.#api.open(this.#path, { ...query, follow: false }, signal);
    const events: ShownEvent[] = [];
    for await (const lines of lineGroups(response)) events.push(...lines.map(readEvent));
    return events;
  }

  close(): void {
    this.#leave();
    this.#over.abort();
    this.folds.close();
    for (const { loading } of this.#pages.values()) loading?.abort();
    this.#pages.clear();
  }

  #append(envelope: ShownEvent): void {
    const { seq } = envelope;
    if (seq > this.#newest) this.#newest = seq;
    this.folds.append(envelope);
    const number = Math.floor((seq - 1) / pageSize);
    const known = this.#pages.get(number);
    const first = number * pageSize + 1;
    // Only what continues a page is kept; anything else is read when it comes into view.
    if (known !== undefined ? known.filledTo === seq - 1 : seq === first && this.#isNear(number)) {
      this.#fill(this.#page(number), [envelope]);
    }
    this.#draw();
  }

  /** Whether the reader is at the end: then the next page will be drawn at once. */
  #isNear(number: number): boolean {
    return this.#pages.has(number - 1);
  }

  #page(number: number): Page {
    let page = this.#pages.get(number);
    if (page === undefined) {
      const blocks = Array.from({ length: blocksOfPage }, () => ({ events: [], drawn: null }));
      page = { blocks, filledTo: number * pageSize, loading: null, usedAt: ++this.#clock };
      this.#pages.set(number, page);
      this.#evict();
    }
    page.usedAt = ++this.#clock;
    return page;
  }

  #evict(): void {
    const most = this.isSparse ? mostSparsePages : mostPages;
    if (this.#pages.size <= most) return;
    const oldest = [...this.#pages].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [number, { loading }] of oldest.slice(0, this.#pages.size - most)) {
      loading?.abort();
      this.#pages.delete(number);
    }
  }

  async #load(number: number): Promise<void> {
    const page = this.#page(number);
    // The end of any request draws again, which asks for what is in view then.
    if (page.loading !== null || this.#loads >= mostLoads) return;
    const over = new AbortController();
    page.loading = over;
    this.#loads++;
    try {
      const limit = (number + 1) * pageSize - page.filledTo;
      this.#fill(page, await this.#read({ after: page.filledTo, limit }, over.signal));
      this.failure.value = null;
    } catch (error) {
      if (!over.signal.aborted) {
        this.failure.value = error;
        await new Promise((done) => setTimeout(done, 500));
      }
    } finally {
      page.loading = null;
      this.#loads--;
      this.#draw();
    }
  }

  #fill(page: Page, events: readonly ShownEvent[]): void {
    for (const event of events) {
      const to = event.event.type === "gap" ? Math.max(event.seq, event.event.to_seq) : event.seq;
      if (to <= page.filledTo) continue;
      this.folds.learn(event);
      const block = page.blocks[Math.floor((event.seq - 1) % pageSize / blockSize)];
      block?.events.push(event);
      if (block !== undefined) block.drawn = null;
      page.filledTo = to;
    }
  }

  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    const rest = this.#isPouring ? this.#drawnAt + restMs - performance.now() : 0;
    if (rest > 0) setTimeout(() => requestAnimationFrame(this.#show), rest);
    else requestAnimationFrame(this.#show);
  }

  #show = (): void => {
    this.#isDrawing = false;
    const now = performance.now();
    this.#isPouring = this.#newest - this.last.value > pouring * (now - this.#drawnAt);
    this.#drawnAt = now;
    this.last.value = this.#newest;
    this.version.value += 1;
  };
}
