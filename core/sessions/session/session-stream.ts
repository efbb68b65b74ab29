import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { LateEnd } from "./late-ends.ts";
import { SessionPulse } from "./session-pulse.ts";
import type { LogEntry, MergedLog, Received, Stream } from "./merged-log.ts";

interface SessionStreamOptions {
  log: MergedLog;
  sessionId: string;
  adapter: Stream["adapter"];
  redactor: Redactor | null;
  /** Called when the log could not be written. */
  onFailure(error: unknown): void;
}

/**
 * Writes one session's events to the log: redacts secrets, and adds no event of the host after the session's last one.
 */
export class SessionStream {
  readonly #options: SessionStreamOptions;
  readonly #stream: Stream;
  #ended = false;
  /** Live facts of the session. */
  readonly pulse: SessionPulse = new SessionPulse();

  constructor(options: SessionStreamOptions) {
    this.#options = options;
    const { sessionId, adapter } = options;
    this.#stream = { sessionId, adapter, attempt: 1, lastSeq: 0 };
  }

  /** Returns true once its last event has been added. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Assigns the following events to this attempt. */
  begin(attempt: number, adapter: Stream["adapter"]): void {
    this.#stream.attempt = attempt;
    this.#stream.adapter = adapter;
  }

  /** Sets the receiver of the milliseconds that writing later events costs the host. */
  chargeTo(charge: (ms: number) => void): void {
    this.#stream.charge = charge;
  }

  /** Adds an event of the host, or a question of its own; drops it after the session's end. */
  host(event: HostEvent | PermissionRequestEvent): void {
    // A person's answer to a question of the broker may arrive after the session's end.
    if (!this.#ended) this.add([{ source: "host", event: this.redacted(event) }]).catch(() => {});
  }

  /** Adds events as they are; resolves when they are durable, rejects when they cannot be written. */
  async add(entries: readonly LogEntry[], { bytes, text }: Received = { bytes: 0 }): Promise<void> {
    const { log, redactor } = this.#options;
    this.pulse.take(entries, this.#stream.adapter.id);
    try {
      // The text may hold more than the parsed events, such as a duplicate key, so a secret could pass in it.
      await log.add(this.#stream, entries, { bytes, text: redactor === null ? text : undefined });
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
  }

  /** Adds the last event. Where it cannot be written, rejects after it gave it to `keep`, which may write it later. */
  async end(result: SessionResult, keep: (late: LateEnd) => void): Promise<void> {
    this.#ended = true;
    const entries: LogEntry[] = [{ source: "host", event: { type: "session_ended", result } }];
    try {
      await this.add(entries);
    } catch (error) {
      const { log, sessionId } = this.#options;
      const write = () => log.add(this.#stream, entries, { bytes: 0, isSeen: true });
      const endedAt = new Date().toISOString();
      keep({ sessionId, endSeq: this.#stream.lastSeq + 1, result, endedAt, error, write });
      throw error;
    }
  }

  /** Returns a value without the session's secrets. */
  redacted<T>(value: T): T {
    const { redactor } = this.#options;
    return redactor === null ? value : redactor.value(value);
  }
}
