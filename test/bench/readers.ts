import { request } from "node:http";
import type { BenchDaemon } from "./bench-daemon.ts";

/** One reader in so many also reads how old each event is. The others only count, so that they take little time. */
const oneIn = 50;

/** What begins an event's text in a stream. */
const dataLine = "\ndata: ";

/** How long an event may be overdue before it counts as lost. Milliseconds. */
const patienceMs = 20_000;

/** Options of {@link Readers.open}. */
interface ReadersOptions {
  count: number;
  /** Finds in an event's text when it was made: milliseconds, or a time stamp. */
  madeAt: RegExp;
}

/** What readers got while something was said. */
interface Delivered {
  /** Events that were said; each reader has to get all. */
  events: number;
  /** From the call until the last reader had the last event. */
  seconds: number;
  /** Events that did not come, over all readers. */
  lost: number;
}

/** Clients of one daemon that all read the events of all sessions, each over a connection of its own. */
export class Readers implements AsyncDisposable {
  /** Milliseconds from when an event was made until a reader had it. */
  readonly lags: number[] = [];
  readonly #options: ReadersOptions;
  /** Events that each reader got. */
  readonly #got: number[] = [];
  readonly #ends: (() => void)[] = [];
  /** When the last event came to a reader. */
  #newestAt = NaN;

  private constructor(options: ReadersOptions) {
    this.#options = options;
  }

  static async open(daemon: BenchDaemon, options: ReadersOptions): Promise<Readers> {
    const readers = new Readers(options);
    // A socket holds only so many connections that are not taken yet.
    while (readers.#ends.length < options.count) {
      const next = Array.from({ length: 50 }, (_, n) => readers.#add(daemon, readers.#ends.length + n));
      readers.#ends.push(...await Promise.all(next));
    }
    return readers;
  }

  /**
   * Waits until each reader has all that is said.
   * @param say returns how many events it made
   */
  async during(say: () => Promise<number>): Promise<Delivered> {
    const started = performance.now();
    const before = [...this.#got];
    const events = await say();
    const missing = () => this.#got.reduce((sum, got, n) => sum + Math.max(0, events - (got - before[n]!)), 0);
    let lost = missing();
    for (let changedAt = performance.now(); lost > 0 && performance.now() - changedAt < patienceMs;) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const now = missing();
      if (now < lost) changedAt = performance.now();
      lost = now;
    }
    return { events, seconds: (this.#newestAt - started) / 1000, lost };
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) end();
    return Promise.resolve();
  }

  #add({ socket, token }: BenchDaemon, index: number): Promise<() => void> {
    const headers = { host: "localhost", authorization: `Bearer ${token}` };
    this.#got[index] = 0;
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath: socket, path: "/v1/events", agent: false, headers });
      sent.on("error", reject);
      sent.on("response", (incoming) => {
        incoming.on("error", () => {});
        incoming.on("data", this.#counter(index));
        if (index % oneIn === 0) incoming.on("data", this.#clock());
        resolve(() => void sent.destroy());
      });
      sent.end();
    });
  }

  /** Counts the events of a stream; each has its data on one line. */
  #counter(index: number): (piece: Buffer) => void {
    let rest = "";
    return (piece) => {
      const text = rest + piece.toString("latin1");
      this.#newestAt = performance.now();
      for (let at = text.indexOf(dataLine); at !== -1; at = text.indexOf(dataLine, at + 1)) this.#got[index]! += 1;
      rest = text.slice(1 - dataLine.length);
    };
  }

  /** Reads how old the events of a stream are when they come. */
  #clock(): (piece: Buffer) => void {
    const decoder = new TextDecoder();
    let rest = "";
    return (piece) => {
      const now = Date.now();
      const frames = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const made = this.#options.madeAt.exec(frame)?.[1];
        if (made !== undefined) this.lags.push(now - (Number(made) || Date.parse(made)));
      }
    };
  }
}
