import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { LogEntry, MergedLog, Received, Stream } from "./merged-log.ts";

/** What a session's stream is made from. */
export interface SessionStreamOptions {
  log: MergedLog;
  sessionId: string;
  adapter: Stream["adapter"];
  redactor: Redactor | null;
  /** The log could not be written. */
  onFailure(error: unknown): void;
}

/** One session's way into the log: nothing secret passes, and nothing follows its last event. */
export class SessionStream {
  readonly #options: SessionStreamOptions;
  readonly #stream: Stream;
  #ended = false;

  constructor(options: SessionStreamOptions) {
    this.#options = options;
    const { sessionId, adapter } = options;
    this.#stream = { sessionId, adapter, attempt: 1, lastSeq: 0 };
  }

  /** Its last event has been added. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What follows is of this attempt. */
  begin(attempt: number, adapter: Stream["adapter"]): void {
    this.#stream.attempt = attempt;
    this.#stream.adapter = adapter;
  }

  /** Takes the milliseconds that writing what follows costs the host. */
  chargeTo(charge: (ms: number) => void): void {
    this.#stream.charge = charge;
  }

  /** Adds an event of the host; one that comes after the end is dropped. */
  host(event: HostEvent): void {
    // A person's answer to a question of the broker may come when its session is over.
    if (!this.#ended) this.add([{ source: "host", event: this.redacted(event) }]).catch(() => {});
  }

  /**
   * Adds events as they are; resolves when they are durable, and rejects when they cannot be made so.
   */
  async add(entries: readonly LogEntry[], { bytes, text }: Received = { bytes: 0 }): Promise<void> {
    const { log, redactor } = this.#options;
    try {
      // A text may hold more than was parsed from it, such as a key that stands there twice.
      await log.add(this.#stream, entries, { bytes, text: redactor === null ? text : undefined });
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
  }

  /** Adds the last events. */
  async end(entries: readonly LogEntry[]): Promise<void> {
    this.#ended = true;
    await this.add(entries);
  }

  /** A value without the session's secrets. */
  redacted<T>(value: T): T {
    const { redactor } = this.#options;
    return redactor === null ? value : redactor.value(value);
  }
}
