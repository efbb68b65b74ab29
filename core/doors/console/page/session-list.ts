import { type Signal, signal } from "@preact/signals";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import { type HostApi, RefusedCall } from "./api.ts";
import type { LiveEvents } from "./live.ts";
import type { ShownEvent } from "./shown-event.ts";

/** How a session stands, for the eye: what waits for you never looks as if it worked. */
export type Standing = "waiting" | "running" | "queued" | "kept" | "done" | "blocked" | "failed" | "stopped";

/** Words of each standing. */
export const standings: Readonly<Record<Standing, string>> = {
  waiting: "Waits for you",
  running: "Running",
  queued: "Waits for a slot",
  kept: "Waits for a message",
  done: "Done",
  blocked: "Blocked",
  failed: "Failed",
  stopped: "Interrupted",
};

/** Tells how a session stands. */
export function standingOf(session: SessionSummary, queued: ReadonlySet<string> = new Set()): Standing {
  if (session.state === "running") {
    if (session.waiting.length > 0) return "waiting";
    const isQueued = session.facts?.queued !== undefined || queued.has(session.session_id);
    if (isQueued || session.adapter_id === null) return "queued";
    return session.turn === undefined || session.turn.state === "working" ? "running" : "kept";
  }
  if (session.outcome === "completed") return "done";
  if (session.outcome === "blocked") return "blocked";
  return session.stop_reason === "interrupted" ? "stopped" : "failed";
}

// Events after which a session's summary differs in what a list shows.
const telling: ReadonlySet<string> = new Set([
  "session_started",
  "attempt_started",
  "permission_request",
  "question",
  "permission_resolved",
  "turn_started",
  "turn_ended",
  "session_ended",
]);
const pageSize = 100;
/** Events that come close together are read about once. */
const soonMs = 120;
/** From a read that failed to the next. */
const retryMs = 2000;

/** The sessions of the host, the newest first; a session keeps its place whatever happens to it. */
export class SessionList {
  readonly all: Signal<readonly SessionSummary[]> = signal([]);
  /** Ids of sessions that wait for a slot. */
  readonly queued: Signal<ReadonlySet<string>> = signal(new Set<string>());
  readonly next: Signal<string | null> = signal(null);
  readonly state: Signal<"loading" | "ready" | { failed: unknown }> = signal("loading");
  #api: HostApi;
  #dirty = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Refreshes one after another: an older answer must not come after a newer one. */
  #refreshing: Promise<void> = Promise.resolve();

  constructor(api: HostApi, live: LiveEvents) {
    this.#api = api;
    live.subscribe((envelopes) => this.#take(envelopes));
    live.opened.subscribe((count) => count > 0 && this.#next(() => this.read()));
  }

  find(id: string): SessionSummary | undefined {
    return this.all.value.find(({ session_id }) => session_id === id);
  }

  /** Reads the first page again; sessions of further pages stay as they were. */
  async read(): Promise<void> {
    await this.#reading(async () => {
      const page = await this.#api.get<SessionPage>("/v1/sessions", { limit: pageSize });
      if (this.all.value.length <= pageSize) this.next.value = page.next;
      this.#merge(page.sessions);
    });
  }

  async readMore(): Promise<void> {
    const before = this.next.value;
    if (before === null) return;
    await this.#reading(async () => {
      const page = await this.#api.get<SessionPage>("/v1/sessions", { limit: pageSize, before });
      this.next.value = page.next;
      this.#merge(page.sessions);
    });
  }

  /** Reads one session's summary again soon. */
  touch(id: string): void {
    this.#readAgain([id], soonMs);
  }

  #readAgain(ids: readonly string[], ms: number): void {
    for (const id of ids) this.#dirty.add(id);
    this.#timer ??= setTimeout(() => this.#next(() => this.#refresh()), ms);
  }

  async #reading(read: () => Promise<void>): Promise<void> {
    try {
      await read();
      this.state.value = "ready";
    } catch (error) {
      this.state.value = { failed: error };
    }
  }

  #take(envelopes: readonly ShownEvent[]): void {
    const queued = new Set(this.queued.value);
    for (const { session_id, event } of envelopes) {
      if (event.type === "queued") queued.add(session_id);
      if (event.type === "attempt_started" || event.type === "session_ended") queued.delete(session_id);
      if (telling.has(event.type)) this.touch(session_id);
    }
    if (queued.size !== this.queued.value.size) this.queued.value = queued;
  }

  #next(read: () => Promise<void>): void {
    this.#refreshing = this.#refreshing.then(read).catch(() => {});
  }

  async #refresh(): Promise<void> {
    const ids = [...this.#dirty];
    this.#dirty.clear();
    this.#timer = undefined;
    if (ids.length > 4) {
      await this.read();
      if (this.state.value !== "ready") this.#readAgain(ids, retryMs);
      return;
    }
    const read = ids.map((id) =>
      this.#api.get<SessionSummary>(`/v1/sessions/${encodeURIComponent(id)}`, { output: false }).catch(unlessGone)
    );
    try {
      this.#merge((await Promise.all(read)).filter((session) => session !== null));
    } catch {
      // No other event may name these sessions again: one that has ended would seem to run forever.
      this.#readAgain(ids, retryMs);
    }
  }

  #merge(found: readonly SessionSummary[]): void {
    const byId = new Map(this.all.value.map((session) => [session.session_id, session]));
    for (const session of found) byId.set(session.session_id, session);
    this.all.value = [...byId.values()].sort((a, b) =>
      a.started_at === b.started_at ? (a.session_id < b.session_id ? 1 : -1) : a.started_at < b.started_at ? 1 : -1
    );
  }
}

interface SessionPage {
  sessions: SessionSummary[];
  next: string | null;
}

/** A session that was deleted, or that this token may not see, is left out; a host that is busy or away is asked again. */
function unlessGone(error: unknown): null {
  if (error instanceof RefusedCall && error.status >= 400 && error.status < 500 && error.status !== 429) return null;
  throw error;
}
