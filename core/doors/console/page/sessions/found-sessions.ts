import { type Signal, signal } from "@preact/signals";
import type { SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { HostApi } from "../api.ts";
import type { SessionList } from "../session-list.ts";
import { countsQuery, endedQuery, hasStanding, type ListFilter, noFilter, runningQuery } from "./list-filter.ts";

interface SessionPage {
  sessions: SessionSummary[];
  next: string | null;
}

const pageSize = 100;
/** Running sessions that are shown: a host runs fewer. */
const mostRunning = 500;
/** Letters that come close together are one search. */
const typingMs = 120;
/** From one read of what runs to the next: steps and silence are as new as this. */
const everyMs = 2000;
/** Changes that come close together are read about once. */
const soonMs = 400;
/** Between two counts of all sessions. */
const countMs = 5000;

/** The sessions that a person looks for among all of the host's, as the host finds and counts them. */
export class FoundSessions {
  readonly filter: Signal<ListFilter> = signal(noFilter);
  readonly running: Signal<readonly SessionSummary[]> = signal([]);
  readonly ended: Signal<readonly SessionSummary[]> = signal([]);
  readonly counts: Signal<SessionCounts | null> = signal(null);
  readonly state: Signal<"loading" | "ready" | { failed: unknown }> = signal("loading");
  /** Beginning of the next page; null after the last. */
  readonly next: Signal<string | null> = signal(null);
  readonly #api: HostApi;
  readonly #list: SessionList;
  readonly #reads: Signal<number>;
  #over = new AbortController();
  /** Whether all parts of the list were read for this filter. */
  #isWhole = false;
  #isMore = false;
  #isMoreFailed = false;
  #isReading = false;
  #countedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param deps.reads rises when reads that failed start again */
  constructor({ api, list, reads }: { api: HostApi; list: SessionList; reads: Signal<number> }) {
    this.#api = api;
    this.#list = list;
    this.#reads = reads;
  }

  /** Shows other sessions, a moment later: a person may still type. */
  ask(change: Partial<ListFilter>): void {
    this.filter.value = { ...this.filter.value, ...change };
    this.#over.abort();
    this.#plan(typingMs, () => this.#begin());
  }

  /** Reads, and goes on reading what runs, until the returned function is called. */
  open(): () => void {
    void this.#begin();
    const leaveList = this.#list.all.subscribe(() => this.#plan(soonMs, () => this.#refresh()));
    const leaveReads = this.#reads.subscribe(() => void this.#readAgain());
    const tick = setInterval(() => {
      if (!document.hidden && this.running.peek().length > 0) void this.#refresh();
    }, everyMs);
    return () => {
      leaveList();
      leaveReads();
      clearInterval(tick);
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#over.abort();
    };
  }

  /** Reads the next page of those that have ended. */
  async more(): Promise<void> {
    const query = endedQuery(this.filter.peek());
    const before = this.next.peek();
    if (this.#isMore || query === null || before === null) return;
    this.#isMore = true;
    this.#isMoreFailed = false;
    const { signal } = this.#over;
    try {
      const page = await this.#page({ ...query, before, limit: pageSize }, signal);
      if (signal.aborted) return;
      this.next.value = page.next;
      this.#merge(page.sessions);
    } catch (error) {
      this.#isMoreFailed = true;
      this.#fail(error, signal);
    } finally {
      this.#isMore = false;
    }
  }

  /** Reads what failed. */
  async #readAgain(): Promise<void> {
    if (typeof this.state.peek() !== "object") return;
    await this.#refresh();
    if (this.#isMoreFailed) await this.more();
  }

  async #begin(): Promise<void> {
    this.#isWhole = false;
    this.#over.abort();
    this.#over = new AbortController();
    const { signal } = this.#over;
    const filter = this.filter.peek();
    this.#countedAt = Date.now();
    try {
      const [running, ended, counts] = await Promise.all([
        this.#runningNow(filter, signal),
        this.#firstEnded(filter, signal),
        this.#api.get<SessionCounts>("/v1/sessions/counts", countsQuery(filter), signal),
      ]);
      if (signal.aborted) return;
      this.running.value = running;
      this.ended.value = ended.sessions;
      this.next.value = ended.next;
      this.counts.value = counts;
      this.#isWhole = true;
      this.state.value = "ready";
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  /** Reads again what runs, and the newest of those that have ended where one of them was running before. */
  async #refresh(): Promise<void> {
    const { signal } = this.#over;
    if (this.#isReading || signal.aborted || this.state.peek() === "loading") return;
    if (!this.#isWhole) return await this.#begin();
    this.#isReading = true;
    const filter = this.filter.peek();
    try {
      const before = this.running.peek();
      const running = await this.#runningNow(filter, signal);
      if (signal.aborted) return;
      const ids = new Set(running.map(({ session_id }) => session_id));
      const gone = before.filter(({ session_id }) => !ids.has(session_id));
      this.running.value = running;
      if (gone.length > 0 || running.some((one) => !before.some(({ session_id }) => session_id === one.session_id))) {
        await this.#settle(gone, signal);
      }
      this.state.value = "ready";
    } catch (error) {
      this.#fail(error, signal);
    } finally {
      this.#isReading = false;
    }
  }

  /** Takes over sessions that ran a moment ago, and counts again. */
  async #settle(gone: readonly SessionSummary[], signal: AbortSignal): Promise<void> {
    const filter = this.filter.peek();
    if (gone.length > 0) {
      const { sessions } = await this.#firstEnded(filter, signal);
      const known = new Set(sessions.map(({ session_id }) => session_id));
      // One that ran for long began before those of the first page.
      const older = gone.flatMap(({ session_id }) => known.has(session_id) ? [] : this.#list.find(session_id) ?? []);
      if (signal.aborted) return;
      if (endedQuery(filter) !== null && filter.standing === null) this.#merge(older.filter(hasEnded));
      this.#merge(sessions);
    }
    if (Date.now() - this.#countedAt < countMs) return this.#plan(countMs, () => this.#count());
    await this.#count();
  }

  async #count(): Promise<void> {
    const { signal } = this.#over;
    this.#countedAt = Date.now();
    try {
      const counts = await this.#api.get<SessionCounts>("/v1/sessions/counts", countsQuery(this.filter.peek()), signal);
      if (!signal.aborted) this.counts.value = counts;
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  async #runningNow(filter: ListFilter, signal: AbortSignal): Promise<SessionSummary[]> {
    const query = runningQuery(filter);
    if (query === null) return [];
    const { sessions } = await this.#page({ ...query, limit: mostRunning }, signal);
    return sessions.filter((one) => hasStanding(one, filter, this.#list.queued.peek()));
  }

  async #firstEnded(filter: ListFilter, signal: AbortSignal): Promise<SessionPage> {
    const query = endedQuery(filter);
    return query === null ? { sessions: [], next: null } : await this.#page({ ...query, limit: pageSize }, signal);
  }

  #page(query: Record<string, string | number | boolean>, signal: AbortSignal): Promise<SessionPage> {
    return this.#api.get<SessionPage>("/v1/sessions", { ...query, facts: true }, signal);
  }

  #merge(sessions: readonly SessionSummary[]): void {
    const all = new Map([...this.ended.peek(), ...sessions].map((one) => [one.session_id, one]));
    this.ended.value = [...all.values()].sort((a, b) => a.started_at < b.started_at ? 1 : -1);
  }

  #plan(ms: number, act: () => Promise<void>): void {
    if (ms === typingMs) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void act();
    }, ms);
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.state.value = { failed: error };
  }
}

function hasEnded({ state }: SessionSummary): boolean {
  return state === "ended";
}
