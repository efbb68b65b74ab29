import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";

/** The end of a session that could not be written when it came. */
export interface LateEnd {
  sessionId: string;
  /** The `seq` that it will have; 1 where the journal has nothing of the session, and never will. */
  endSeq: number;
  result: SessionResult;
  /** RFC 3339, UTC. */
  endedAt: string;
  /** Why it could not be written. */
  error: unknown;
  write(): Promise<void>;
}

/** How often to try again. Milliseconds. */
const everyMs = 1000;
/** Sessions without any event that are remembered, the newest. */
const mostLost = 1000;

/**
 * Keeps the ends of sessions that could not be written, and writes them once that works. Each session has one at most,
 * and no session starts while the state cannot be written, so there are no more than sessions may run.
 */
export class LateEnds {
  readonly #late = new Map<string, LateEnd>();
  readonly #lost = new Map<string, unknown>();
  #cancel: (() => void) | null = null;
  #writing: Promise<void> | null = null;

  keep(end: LateEnd): void {
    if (end.endSeq > 1) this.#late.set(end.sessionId, end);
    else this.#lost.set(end.sessionId, end.error);
    const oldest = this.#lost.size > mostLost ? this.#lost.keys().next().value : undefined;
    if (oldest !== undefined) this.#lost.delete(oldest);
    this.#plan();
  }

  /** Returns a session's end that waits; undefined for any other session. */
  find(sessionId: string): LateEnd | undefined {
    return this.#late.get(sessionId);
  }

  all(): LateEnd[] {
    return [...this.#late.values()];
  }

  /** Throws the reason where nothing of a session could be written. */
  demandBeginning(sessionId: string): void {
    if (this.#lost.has(sessionId)) throw this.#lost.get(sessionId);
  }

  /** Tries to write all that wait. */
  async write(): Promise<void> {
    await (this.#writing ??= this.#write().finally(() => (this.#writing = null)));
  }

  /** Tries for the last time; the next host ends in its own words what is left. */
  async close(): Promise<void> {
    this.#cancel?.();
    this.#cancel = () => {};
    await this.write();
  }

  async #write(): Promise<void> {
    await Promise.all(
      this.all().map(async (end) => {
        try {
          await end.write();
          this.#late.delete(end.sessionId);
        } catch {
          // It stays in the list.
        }
      }),
    );
  }

  #plan(): void {
    if (this.#late.size === 0) return;
    this.#cancel ??= startBackgroundTimer(() => {
      void this.write().then(() => {
        this.#cancel = null;
        this.#plan();
      });
    }, everyMs);
  }
}
