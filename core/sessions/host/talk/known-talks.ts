import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import type { LiveSession } from "../live-sessions.ts";
import type { SessionHandle } from "../session-host.ts";
import { readTalk, type SessionTalk } from "../session-talk.ts";

interface KnownTalksDeps {
  journal: Pick<Journal, "read">;
  find(id: string): LiveSession | undefined;
  open(sessionId: string): Promise<SessionHandle>;
  /** Resolves once the events so far are durable. */
  written(): Promise<void>;
}

/** Sessions whose talk is remembered: they have ended, so it does not change. */
const mostTalks = 200;

/** Reads from sessions what was said and done in them. */
export class KnownTalks {
  readonly #deps: KnownTalksDeps;
  readonly #talks = new Map<string, Promise<SessionTalk | null>>();

  constructor(deps: KnownTalksDeps) {
    this.#deps = deps;
  }

  /** Returns what a session that has ended tells; null for one that runs, or whose events are gone. */
  ended({ session_id, state }: Pick<SessionRecord, "session_id" | "state">): Promise<SessionTalk | null> {
    if (state === "running") return Promise.resolve(null);
    const known = this.#talks.get(session_id);
    if (known !== undefined) return known;
    const reading = this.#deps.open(session_id).then((handle) => readTalk(handle.events()));
    this.#talks.set(session_id, reading);
    reading.catch(() => this.#talks.delete(session_id));
    for (const oldest of this.#talks.keys()) if (this.#talks.size > mostTalks) this.#talks.delete(oldest);
    return reading;
  }

  /** Returns what a session has told until now, also one that runs here; null as {@link ended}. */
  async soFar(record: Pick<SessionRecord, "session_id" | "state">): Promise<SessionTalk | null> {
    const { session_id } = record;
    if (this.#deps.find(session_id) === undefined) return await this.ended(record);
    for (;;) {
      const live = this.#deps.find(session_id);
      if (live === undefined) return await this.ended({ session_id, state: "ended" });
      await this.#deps.written();
      const talk = await readTalk(eachOf(sessionPages(this.#deps.journal, session_id)));
      // A turn that is over is told a moment later, when its files have been looked at.
      if (talk?.turns.at(-1)?.outcome !== null || live.session.talk.current !== null) return talk;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  }
}

/** Pause before the next look at a turn that is about to be told. Milliseconds. */
const lookMs = 20;

async function* eachOf(pages: AsyncIterable<readonly Envelope[]>): AsyncGenerator<Envelope, void, void> {
  for await (const page of pages) yield* page;
}
