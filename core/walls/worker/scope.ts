import type { Operations, ScopeCall } from "../channel/operations.ts";

/** The state of one compartment: timers, log, way to fail. A warm worker has the next one ready. */
export class Scope {
  readonly #maxTimers: number;
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();
  #nextTimer = 1;
  #closed = false;
  #log: LogLine | null = null;
  #fail: ((thrown: unknown) => void) | null = null;
  #earlyFailure: { thrown: unknown } | null = null;

  constructor(maxTimers: number) {
    this.#maxTimers = maxTimers;
  }

  /** Connects the compartment with its session. */
  bind(call: ScopeCall, fail: (thrown: unknown) => void): void {
    this.#log = new LogLine(call);
    this.#fail = fail;
    if (this.#earlyFailure) fail(this.#earlyFailure.thrown);
  }

  /** Starts a timer; an error of its callback fails this session alone. */
  startTimer(run: () => void, options: { ms: number; repeat: boolean }): number {
    if (this.#timers.size >= this.#maxTimers) throw new RangeError(`More than ${this.#maxTimers} timers are live.`);
    if (this.#closed) return 0;
    const id = this.#nextTimer++;
    const ms = Math.min(Math.max(Number(options.ms) || 0, 1), 2 ** 31 - 1);
    const fire = () => {
      if (!options.repeat) this.#timers.delete(id);
      this.guard(run);
    };
    this.#timers.set(id, options.repeat ? setInterval(fire, ms) : setTimeout(fire, ms));
    return id;
  }

  /** Stops a timer; ignores unknown ids, as everywhere. */
  stopTimer(id: unknown): void {
    const handle = this.#timers.get(id as number);
    if (handle === undefined) return;
    clearTimeout(handle);
    this.#timers.delete(id as number);
  }

  /** Runs a callback of adapter code; a throw fails the session. */
  guard(run: () => void): void {
    if (this.#closed) return;
    try {
      run();
    } catch (thrown) {
      if (this.#fail) this.#fail(thrown);
      else this.#earlyFailure ??= { thrown };
    }
  }

  /** Writes a log record; drops it while the session is unknown. */
  log(level: Operations["log"]["args"]["level"], message: string, fields: unknown = null): void {
    this.#log?.add({ level, message, fields });
  }

  /** Resolves when the host has taken all records. */
  logged(): Promise<void> {
    return this.#log?.empty() ?? Promise.resolve();
  }

  /** Ends all work that could still run for this compartment. */
  close(): void {
    this.#closed = true;
    for (const handle of this.#timers.values()) clearTimeout(handle);
    this.#timers.clear();
  }
}

type LogRecord = Operations["log"]["args"];

/** Records under way to the host at once: a burst of them must not use up the adapter's concurrent calls. */
const maxUnderWay = 16;
/** Maximum waiting records; further ones are counted and dropped. */
const maxWaiting = 1024;

/** One session's log records on their way to the host, in order. */
class LogLine {
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
