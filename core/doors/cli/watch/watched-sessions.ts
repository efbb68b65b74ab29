import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { SessionPulse } from "../../../sessions/session/session-pulse.ts";
import { SessionProgress } from "../render/session-progress.ts";

/** One watched session. */
export interface WatchedSession {
  id: string;
  title: string;
  startedAt: string;
  facts: SessionProgress;
  /** Sums up what it does as the list of sessions shows it. */
  pulse: SessionPulse;
}

interface WatchedSessionsDeps {
  sessions: Pick<SessionHost, "open">;
  signal: AbortSignal;
  /** Called after each change of a session. */
  onChange(session: WatchedSession): void;
}

/**
 * Keeps the facts of several sessions up to date. The merged stream tells what happens now; lists of what runs tell what
 * the stream did not: sessions that are new, and events from before or between.
 */
export class WatchedSessions {
  readonly #deps: WatchedSessionsDeps;
  /** In the order in which they were seen. */
  readonly #all = new Map<string, WatchedSession>();
  /** Sessions whose missed events are being read, and up to which one. */
  readonly #behind = new Map<string, number>();
  /** Only these; null: every session that runs. */
  readonly #only: ReadonlySet<string> | null;

  constructor(only: ReadonlySet<string> | null, deps: WatchedSessionsDeps) {
    this.#only = only;
    this.#deps = deps;
  }

  /** Those that wait for a person, then those that run, then those that have ended. */
  get inOrder(): WatchedSession[] {
    const rank = ({ facts }: WatchedSession) => facts.outcome !== null ? 2 : facts.asks === null ? 1 : 0;
    return [...this.#all.values()].sort((a, b) => rank(a) - rank(b));
  }

  get haveEnded(): boolean {
    return this.#only !== null && [...this.#all.values()].every(({ facts }) => facts.outcome !== null);
  }

  /** Ids of sessions that run as far as is known here, and are not listed. */
  unlisted(listed: readonly SessionSummary[]): string[] {
    const ids = new Set(listed.map(({ session_id }) => session_id));
    return [...this.#all.values()].filter(({ id, facts }) => facts.outcome === null && !ids.has(id)).map(({ id }) =>
      id
    );
  }

  /** Compares with what the host lists now, and reads what is missing. */
  async compare(listed: readonly SessionSummary[]): Promise<void> {
    await Promise.all(listed.map(async ({ session_id, title, started_at, last_seq }) => {
      if (this.#only !== null && !this.#only.has(session_id)) return;
      const known = this.#all.get(session_id);
      const facts = new SessionProgress();
      const one = known ?? { id: session_id, title, startedAt: started_at, facts, pulse: new SessionPulse() };
      if (known === undefined) this.#all.set(session_id, one);
      await this.#catchUp(one, last_seq);
    }));
  }

  /** Notes an event of the merged stream. */
  see(envelope: Envelope): void {
    const { session_id, seq } = envelope;
    const one = this.#all.get(session_id);
    // A list names a session that is new.
    if (one === undefined || seq <= one.facts.seq) return;
    if (seq > one.facts.seq + 1 || this.#behind.has(session_id)) return void this.#catchUp(one, seq);
    this.#note(one, envelope);
  }

  /** Reads a session's events up to one of them. */
  async #catchUp(one: WatchedSession, seq: number): Promise<void> {
    const { sessions, signal } = this.#deps;
    const isReading = this.#behind.has(one.id);
    this.#behind.set(one.id, Math.max(seq, this.#behind.get(one.id) ?? 0));
    if (isReading) return;
    try {
      while (one.facts.seq < this.#behind.get(one.id)! && !signal.aborted) {
        for await (const envelope of (await sessions.open(one.id)).events({ after: one.facts.seq, signal })) {
          this.#note(one, envelope);
          if (one.facts.seq >= this.#behind.get(one.id)!) break;
        }
        if (one.facts.outcome !== null) break;
      }
    } catch {
      // The next list has it read again.
    } finally {
      this.#behind.delete(one.id);
    }
  }

  #note(one: WatchedSession, envelope: Envelope): void {
    one.facts.see(envelope);
    one.pulse.take([envelope], envelope.adapter.id);
    if (envelope.event.type === "gap") one.facts.seq = envelope.event.to_seq;
    this.#deps.onChange(one);
  }
}
