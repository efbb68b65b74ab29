import type { LogRecord } from "../../ground/log/log-record.ts";

/** Time between two lines about one kind of message of one machine. Milliseconds. */
const everyMs = 60_000;
/** Kinds that are counted apart; the oldest is forgotten first. */
const mostKinds = 256;
/** Characters of a reason. */
const mostText = 512;

/** Logs messages of other machines that cannot be used. One that repeats is counted, so that none fills the log. */
export class DroppedMessages {
  readonly #writeLog: (record: LogRecord) => void;
  readonly #now: () => number;
  readonly #told = new Map<string, { at: number; more: number }>();

  constructor(writeLog: (record: LogRecord) => void, now: () => number = () => performance.now()) {
    this.#writeLog = writeLog;
    this.#now = now;
  }

  /**
   * Tells that a message was dropped.
   * @param what begins the sentence, as `A note of a waiting session`
   */
  tell(what: string, why: string): void {
    const now = this.#now();
    const known = this.#told.get(what);
    if (known !== undefined && now - known.at < everyMs) return void known.more++;
    this.#told.delete(what);
    this.#told.set(what, { at: now, more: 0 });
    const oldest = this.#told.size > mostKinds ? this.#told.keys().next().value : undefined;
    if (oldest !== undefined) this.#told.delete(oldest);
    const more = known === undefined || known.more === 0 ? "" : ` So were ${known.more} before it.`;
    const message = `${what} was dropped: ${why.slice(0, mostText).replace(/\.$/, "")}.${more}`;
    this.#writeLog({ level: "warn", message });
  }
}
