import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import { type Engine, StaleError } from "../engine/engine.ts";
import type { OutgoingMessage } from "../engine/messages.ts";
import {
  gseqOf,
  idOf,
  type LogPosition,
  LogReader,
  logStart,
  markMessage,
  partsOf,
  signed,
  type TermEntry,
  writerOf,
} from "./log-entry.ts";
import { offerHeld } from "./offer-held.ts";

interface MachineLogDeps {
  engine: Engine;
  /** The machine whose log it is. */
  machine: string;
  /** The machine that writes. */
  by: string;
  /** Returns what the local copy holds after a `gseq`, for servers that have lost it. */
  held(afterGseq: number): AsyncIterable<TermEntry>;
  writeLog(record: LogRecord): void;
}

/** A message on its way. */
interface Sending {
  message: OutgoingMessage;
  number: number;
  /** Set once the servers have it. */
  stored: boolean;
  /** The last message of an entry settles it. */
  entry: { gseq: number | null; resolve(): void; reject(error: unknown): void } | null;
}

/** Longest wait between two attempts to reach the servers. Milliseconds. */
const longestWaitMs = 500;

/**
 * The log of a machine, as its one writer has it. Messages go out without waiting for one another, each on condition
 * that the one before it is the stream's last; they settle in order. When an outcome is unknown, the writer reads what
 * the stream has and goes on from there. A mark of another machine ends it.
 */
export class MachineLog {
  readonly #deps: MachineLogDeps;
  readonly #stream: string;
  readonly #writer = randomId();
  readonly #lost = new AbortController();
  readonly #closing = new AbortController();
  readonly #unwatch: () => void;
  #reader = new LogReader();
  /** Messages that are not settled, in order. */
  #sending: Sending[] = [];
  /** The number that the stream has once all that was sent is stored. */
  #expected = 0;
  #numbers = 0;
  /** Counts how often what waits was sent again. */
  #attempt = 0;
  #isMending = false;
  /** Whether the servers may lack events that the local copy holds. */
  #isRestoring = false;
  #isSettling = false;

  /**
   * Begins a term after a position: an earlier writer is refused from now on.
   * @throws {StaleError} when the log has gone on since; the caller reads on and tries again
   */
  static async begin(deps: MachineLogDeps, position: LogPosition): Promise<MachineLog> {
    const log = new MachineLog(deps);
    await log.#begin(position);
    // What the local copy holds beyond the position goes out first.
    log.#isRestoring = true;
    void log.#mend();
    return log;
  }

  private constructor(deps: MachineLogDeps) {
    this.#deps = deps;
    this.#stream = deps.engine.names.log(deps.machine);
    // What was on its way when the connection broke gets no answer.
    this.#unwatch = deps.engine.onConnection((connected) => connected ? void this.#mend() : undefined);
  }

  /** Aborts when another machine has taken the log over; the reason is a `machine_lost` error. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** How far the log is stored. */
  get position(): LogPosition {
    return this.#reader.position;
  }

  /** Messages that the servers have not taken yet. */
  get waiting(): number {
    return this.#sending.length;
  }

  /**
   * Adds an entry, and resolves once the servers have it and everything before it. It waits while they cannot be
   * reached.
   * @throws {BulkheadError} `machine_lost`, `host_closed`
   */
  append(entry: TermEntry): Promise<void> {
    const ended = this.#ended();
    if (ended !== null) return Promise.reject(ended);
    const { engine, machine } = this.#deps;
    const parts = partsOf(entry, { names: engine.names, machine, bytes: engine.partBytes });
    return new Promise((resolve, reject) => {
      for (const [at, message] of parts.entries()) {
        const isLast = at === parts.length - 1;
        const settles = isLast ? { gseq: gseqOf(entry), resolve, reject } : null;
        const sending: Sending = { message, number: ++this.#numbers, stored: false, entry: settles };
        this.#sending.push(sending);
        if (!this.#isMending) this.#send(sending);
      }
    });
  }

  /** Ends it here: what waits is refused. The term stands until another writer begins one. */
  close(): void {
    this.#unwatch();
    this.#closing.abort();
    this.#rejectAll(this.#ended());
  }

  #ended(): unknown {
    if (this.#lost.signal.aborted) return this.#lost.signal.reason;
    return this.#closing.signal.aborted ? new BulkheadError("host_closed", "The machine's log is closed.") : null;
  }

  async #begin(position: LogPosition): Promise<void> {
    const { engine, machine, by } = this.#deps;
    const mark = markMessage(engine.names.marks(machine), { writer: this.#writer, machine: by });
    const seq = await engine.append(mark, position.seq).catch(async (error: unknown) => {
      // The mark may have been stored although its answer was lost.
      const last = error instanceof StaleError ? await engine.message(this.#stream, position.seq + 1) : null;
      if (last !== null && writerOf(last) === this.#writer) return last.seq;
      throw error;
    });
    this.#reader = new LogReader({ ...position, seq, writer: this.#writer, machine: by, term: seq });
    this.#expected = seq;
  }

  #send(sending: Sending): void {
    const { term } = this.#reader.position;
    const message = signed(sending.message, { writer: this.#writer, term, number: sending.number });
    const expected = this.#expected++;
    const attempt = this.#attempt;
    // Servers that have lost it since do not have it any more.
    sending.stored = false;
    this.#deps.engine.append(message, expected).then((seq) => {
      // Since then it was sent again: what the stream has was read, and each late answer would start that over.
      if (attempt !== this.#attempt) return;
      sending.stored = seq === expected + 1;
      if (sending.stored) this.#settleSoon();
      else void this.#mend();
    }, () => attempt === this.#attempt ? this.#mend() : undefined);
  }

  /** Answers that come in one turn settle together, so that the journal writes them in one transaction. */
  #settleSoon(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    onNextTurn(() => {
      this.#isSettling = false;
      if (!this.#isMending) this.#settle();
    });
  }

  #settle(): void {
    let count = 0;
    while (this.#sending[count]?.stored === true) count++;
    for (const { entry } of this.#sending.splice(0, count)) {
      this.#reader.pass({ seq: this.#reader.position.seq + 1, gseq: entry?.gseq ?? null });
      entry?.resolve();
    }
  }

  /** Finds out what the stream has, settles that, and sends the rest again. */
  async #mend(): Promise<void> {
    if (this.#isMending || this.#ended() !== null) return;
    this.#isMending = true;
    this.#attempt++;
    const over = AbortSignal.any([this.#closing.signal, this.#lost.signal]);
    for (let delayMs = 50; this.#ended() === null; delayMs = Math.min(2 * delayMs, longestWaitMs)) {
      await this.#deps.engine.whenConnected(over);
      try {
        await this.#readTail();
        break;
      } catch (error) {
        const { message } = toErrorData(error);
        if (delayMs === 400) {
          this.#deps.writeLog({ level: "warn", message: `Events wait for the cluster's servers: ${message}` });
        }
        await wait(delayMs, over);
      }
    }
    this.#isMending = false;
    if (this.#ended() !== null) return;
    this.#expected = this.#reader.position.seq;
    for (const sending of this.#sending) this.#send(sending);
  }

  async #readTail(): Promise<void> {
    const { engine } = this.#deps;
    const state = await engine.stream(this.#stream);
    if (state === null || state.lastSeq < this.#reader.position.seq) await this.#restart();
    const lastSeq = state?.lastSeq ?? 0;
    for (let seq = this.#reader.position.seq + 1; seq <= lastSeq; seq++) {
      const message = await engine.message(this.#stream, seq);
      if (message === null) continue;
      const id = idOf(message);
      if (id?.writer === this.#writer) {
        while (this.#sending[0] !== undefined && this.#sending[0].number <= id.number) {
          this.#sending.shift()!.entry?.resolve();
        }
      }
      if (this.#reader.take(message)?.kind === "mark") return this.#lose(this.#reader.position.machine);
    }
    if (this.#isRestoring) await this.#restore();
  }

  /** Begins again where servers that lost the end of the log, or all of it, have its end now. */
  async #restart(): Promise<void> {
    const { engine, machine, by, writeLog } = this.#deps;
    const { lastSeq } = await makeLog(engine, machine);
    const { position } = await readAll(engine, { stream: this.#stream, lastSeq });
    if (position.writer !== "" && position.machine !== by) return this.#lose(position.machine);
    const message = `The cluster's servers lost events after ${position.gseq}; they are offered again.`;
    writeLog({ level: "warn", message });
    await this.#begin(position);
    this.#isRestoring = true;
  }

  /** Stores what the local copy holds and the servers do not, before all that waits. */
  async #restore(): Promise<void> {
    const { engine, machine, held } = this.#deps;
    await offerHeld({ engine, machine, writer: this.#writer, held, reader: this.#reader });
    this.#isRestoring = false;
  }

  #lose(to: string): void {
    const { machine, by } = this.#deps;
    const error = new BulkheadError(
      "machine_lost",
      `Machine "${to}" took over the sessions of "${machine}", which had not been heard for too long.`,
      { details: { machine, taken_by: to, written_by: by } },
    );
    this.break(error);
  }

  /** Ends the log with an error: what waits fails, and so does all that is added. */
  break(error: BulkheadError): void {
    this.#lost.abort(error);
    this.#rejectAll(error);
  }

  #rejectAll(error: unknown): void {
    for (const { entry } of this.#sending.splice(0)) entry?.reject(error);
  }
}

/** Makes a machine's stream, unless it is there. */
export async function makeLog(engine: Engine, machine: string): Promise<{ lastSeq: number }> {
  return await engine.makeStream({ name: engine.names.log(machine), subjects: engine.names.logSubjects(machine) });
}

async function readAll(engine: Engine, { stream, lastSeq }: { stream: string; lastSeq: number }): Promise<LogReader> {
  const reader = new LogReader(logStart);
  if (lastSeq === 0) return reader;
  const { signal } = new AbortController();
  for await (const message of engine.read({ stream, fromSeq: 1, toSeq: lastSeq, signal })) reader.take(message);
  return reader;
}
