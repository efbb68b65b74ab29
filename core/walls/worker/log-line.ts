import type { Operations, ScopeCall } from "../channel/operations.ts";

type LogRecord = Operations["log"]["args"];

/** Records under way to the host at once: a burst of them must not use up the adapter's concurrent calls. */
const maxUnderWay = 16;
/** Maximum waiting records; further ones are counted and dropped. */
const maxWaiting = 1024;

/** One session's log records on their way to the host, in order. */
export class LogLine {
  readonly #call: ScopeCall;
  readonly #waiting: LogRecord[] = [];
  #underWay = 0;
  #leftOut = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(call: ScopeCall) {
    this.#call = call;
  }

  add(record: LogRecord): void {
    if (this.#underWay < maxUnderWay) this.#send(record);
    else if (this.#waiting.length < maxWaiting) this.#waiting.push({ ...record, fields: copyOf(record.fields) });
    else this.#leftOut += 1;
  }

  /** Resolves when every added record has been taken or refused. */
  empty(): Promise<void> {
    return this.#underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #send(record: LogRecord): void {
    this.#underWay += 1;
    const done = () => {
      this.#underWay -= 1;
      this.#next();
    };
    this.#call("log", record).then(done, done);
  }

  #next(): void {
    const record = this.#waiting.shift();
    if (record) return this.#send(record);
    if (this.#leftOut > 0) {
      const message = `${this.#leftOut} suppressed: they came faster than they could be taken.`;
      this.#leftOut = 0;
      return this.#send({ level: "warn", message, fields: null });
    }
    if (this.#underWay > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

/** Copies the fields now: the adapter may change them before their turn. Leaves out values that are not JSON. */
function copyOf(fields: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(fields) ?? "null");
  } catch {
    return null;
  }
}
