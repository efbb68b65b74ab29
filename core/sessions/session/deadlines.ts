import { shortText } from "../../../plugin-sdk/short-text.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import type { SessionStream } from "./session-stream.ts";

interface DeadlineOptions {
  totalMs: number;
  onTotal(ms: number): void;
  /** Returns true while the agent is silent because it waits for an answer. */
  waits(): boolean;
  /** Milliseconds so far that do not count towards the total deadline. */
  waitedMs?(): number;
}

/** Limit on an attempt's silence. */
interface Silence {
  idleMs: number;
  onIdle(ms: number): void;
}

/**
 * A turn's total deadline, which stands still only while the session waits for a person, and the idle deadline of
 * its current attempt, which every sign of life restarts.
 */
export class Deadlines {
  readonly totalMs: number;
  readonly #options: DeadlineOptions;
  #startedAt: number | null = null;
  /** Milliseconds that the session waited in earlier turns. */
  #waitedBefore = 0;
  #heardAt = 0;
  #total: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.totalMs = options.totalMs;
  }

  /** Milliseconds until the total deadline. */
  get leftMs(): number {
    if (this.#startedAt === null) return this.totalMs;
    return this.totalMs - (performance.now() - this.#startedAt) + this.#waitedMs - this.#waitedBefore;
  }

  /** Starts the total deadline, unless it runs already. */
  start(): void {
    if (this.#startedAt !== null) return;
    this.#startedAt = performance.now();
    this.#watchTotal(this.totalMs);
  }

  /** Begins an attempt; the first one starts the total deadline. */
  begin(silence: Silence): void {
    this.start();
    this.heard();
    this.#watchIdle(silence, silence.idleMs);
  }

  /** Records a sign of life; only notes the time, so that a busy stream sets no timers. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Ends the attempt: between attempts there is no idle deadline. */
  rest(): void {
    clearTimeout(this.#idle);
  }

  /** Ends all deadlines with the turn, or the session; the next attempt starts the total one again. */
  stop(): void {
    this.rest();
    clearTimeout(this.#total);
    this.#startedAt = null;
    this.#waitedBefore = this.#waitedMs;
  }

  get #waitedMs(): number {
    return this.#options.waitedMs?.() ?? 0;
  }

  #watchTotal(ms: number): void {
    this.#total = setTimeout(() => {
      const left = this.leftMs;
      if (left <= 0) return this.#options.onTotal(this.totalMs);
      this.#watchTotal(this.#options.waits() ? Math.max(left, longestLagMs) : left);
    }, clamp(ms));
  }

  #watchIdle(silence: Silence, ms: number): void {
    this.#idle = setTimeout(() => {
      if (this.#options.waits()) this.heard();
      const left = silence.idleMs - (performance.now() - this.#heardAt);
      if (left <= 0) silence.onIdle(silence.idleMs);
      else this.#watchIdle(silence, left);
    }, clamp(ms));
  }
}

/** How often a deadline that stands still is looked at. */
const longestLagMs = 1000;

function clamp(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 1), 2 ** 31 - 1);
}

/**
 * Waits for the end of a candidate's known limit, if that is within the time left, and tells so. Ends early, without a
 * throw, when the session is stopped.
 * @returns the wait in milliseconds
 */
export async function waitForLimit(
  { limitedUntil, plugin }: { limitedUntil: number | null; plugin: { id: string } },
  { stream, deadlines, signal }: { stream: SessionStream; deadlines: Deadlines; signal: AbortSignal },
): Promise<number> {
  if (limitedUntil === null) return 0;
  const ms = Math.ceil(limitedUntil - Date.now());
  if (ms <= 0 || ms > deadlines.leftMs) return 0;
  deadlines.start();
  const reason = `${plugin.id} is limited until ${new Date(limitedUntil).toISOString()}.`;
  stream.host({ type: "queued", position: 1, retry_in_ms: ms, reason });
  await wait(ms, signal);
  return ms;
}

/** Says that a session was not done in time, and what kept it: what its agent said of a limit, or why an attempt failed. */
export function outOfTime(ms: number, limit: string | null, setback: string | null): string {
  const why = shortText(limit ?? setback ?? "", 200).replace(/\.$/, "");
  const kept = why === "" ? "" : `; ${limit === null ? "its last attempt failed" : "its agent met a limit"}: ${why}`;
  return `The session was not done within ${ms} ms${kept}.`;
}
