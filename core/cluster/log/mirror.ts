import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { openJournal } from "../../records/journal/open-journal.ts";
import { Subscription, type SubscriptionOptions } from "../../sessions/session/subscription.ts";
import type { Engine } from "../engine/engine.ts";
import type { StreamMessage } from "../engine/messages.ts";
import { heldRuns } from "./held-entries.ts";
import { readable } from "./check-envelopes.ts";
import { type Applied, DivergedError, LogCopy } from "./log-copy.ts";
import { type LogPosition, logStart } from "./log-entry.ts";
import { PositionFile } from "./position-file.ts";

interface MirrorOptions {
  engine: Engine;
  machine: string;
  file: string;
  /** How many logs this machine copies at the same time; default: this one. */
  logs?(): number;
  /** Called after each mark, and when a session was deleted. */
  onChange?(applied: Applied): void;
  writeLog(record: LogRecord): void;
}

/** Wait before a log is read on after the servers have let go of this machine. Milliseconds. */
const pauseMs = 100;
/** Messages that are on their way into the journal. */
const mostUnderWay = 256;
/** Size of an event that was not measured. */
const supposedBytes = 1024;
/** How often a mirror looks whether the log is still the one it follows. Milliseconds. */
const lookEveryMs = 2000;

/** A copy of another machine's log on this one, kept up to date. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #position: PositionFile;
  readonly #subscriptions = new Set<Subscription>();
  readonly #closing = new AbortController();
  #journal: Journal;
  #copy: LogCopy;
  #following: Promise<void> = Promise.resolve();
  /** Aborts where the following ends: for good, or while another part of this machine writes the log. */
  #pausing = new AbortController();
  #isPaused = false;

  static async open(options: MirrorOptions): Promise<Mirror> {
    const position = new PositionFile(`${options.file}.position`);
    const journal = await openCopy(options);
    const copy = new LogCopy(journal, { machine: options.machine, position: await position.read() });
    const mirror = new Mirror(options, { position, journal, copy });
    mirror.#following = mirror.#follow();
    return mirror;
  }

  private constructor(
    options: MirrorOptions,
    { position, journal, copy }: { position: PositionFile; journal: Journal; copy: LogCopy },
  ) {
    this.#options = options;
    this.#position = position;
    this.#journal = journal;
    this.#copy = copy;
  }

  /** The copy; do not write to it. */
  get journal(): Journal {
    return this.#journal;
  }

  get machine(): string {
    return this.#options.machine;
  }

  get position(): LogPosition {
    return this.#copy.position;
  }

  get positionPath(): string {
    return `${this.#options.file}.position`;
  }

  /** Messages of refused writers that the log holds. */
  get dropped(): number {
    return this.#copy.dropped;
  }

  /** Streams events as `MergedLog.subscribe`. */
  subscribe(options: SubscriptionOptions & { after: number }): Subscription {
    const isLive = options.after >= this.#journal.lastGseq;
    const subscription = new Subscription({ ...options, isLive }, {
      // A copy that an earlier version made may hold what is no envelope.
      read: async (page) => (await this.#journal.read(page)).map(readable),
      closed: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /**
   * Stops following, for the one that writes the log now; `resume` goes on after what was written.
   * @returns the copy to write to, its position, and how to hand it back
   */
  async pause(): Promise<{ journal: Journal; position: LogPosition; resume(): Promise<void> }> {
    if (this.#isPaused) throw new BulkheadError("busy", `The log of "${this.machine}" is being written already.`);
    this.#isPaused = true;
    this.#pausing.abort();
    await this.#following;
    return {
      journal: this.#journal,
      position: this.#copy.position,
      resume: async () => {
        await this.#showAfter(this.#copy.position.gseq);
        this.#isPaused = false;
        this.#pausing = new AbortController();
        // What was written meanwhile is read again, and found to be there.
        const { machine } = this.#options;
        this.#copy = new LogCopy(this.#journal, { machine, position: this.#copy.position });
        if (!this.#closing.signal.aborted) this.#following = this.#follow();
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
    for (const subscription of this.#subscriptions) subscription.finish();
    await this.#journal.close();
    await this.#position.close();
  }

  get #isFollowing(): boolean {
    return !this.#stopping.aborted;
  }

  get #stopping(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, this.#pausing.signal]);
  }

  async #follow(): Promise<void> {
    while (this.#isFollowing) {
      await this.#options.engine.whenConnected(this.#stopping);
      try {
        await this.#followOnce();
        await wait(pauseMs, this.#stopping);
      } catch (error) {
        if (error instanceof DivergedError) await this.#startOver(error);
        else await wait(pauseMs, this.#stopping);
      }
    }
  }

  /** Follows the log until the connection, the log itself or this mirror ends. */
  async #followOnce(): Promise<void> {
    const { engine, machine, logs } = this.#options;
    const stream = engine.names.log(machine);
    const { lastSeq } = await engine.stream(stream) ?? { lastSeq: 0 };
    if (lastSeq < this.#copy.position.seq) {
      this.#copy = new LogCopy(this.#journal, { machine, position: logStart });
    }
    const reading = new AbortController();
    const watching = this.#watch(reading);
    const underWay = new Set<Promise<void>>();
    let failure: unknown = null;
    try {
      const fromSeq = this.#copy.position.seq + 1;
      for await (const message of engine.read({ stream, fromSeq, readers: logs?.(), signal: reading.signal })) {
        if (!this.#isFollowing || failure !== null) break;
        const taking = this.#take(message).catch((error: unknown) => {
          failure ??= error;
        }).finally(() => underWay.delete(taking));
        underWay.add(taking);
        if (underWay.size >= mostUnderWay) await Promise.all(underWay);
      }
    } finally {
      reading.abort();
      await Promise.all([watching, ...underWay]);
    }
    if (failure !== null) throw failure;
  }

  async #take(message: StreamMessage): Promise<void> {
    const taking = this.#copy.take(message);
    const { position } = this.#copy;
    const applied = await taking.catch((error: unknown) => {
      if (error instanceof DivergedError) throw error;
      this.#drop(`An entry of the log of machine "${this.machine}"`, error);
      return null;
    });
    if (applied?.kind !== "events") return applied === null ? undefined : this.#options.onChange?.(applied);
    // Everything before it is in the journal as well; after a mark or a part of a batch that is not sure.
    this.#position.note(position);
    if (applied.unreadable > 0) {
      this.#drop(`An event of machine "${this.machine}"`, "it is none that this version knows");
    }
    this.#show(applied);
  }

  /** Ends the reading when the mirror is told to stop, or the servers have lost what was read. */
  async #watch(reading: AbortController): Promise<void> {
    const { engine, machine } = this.#options;
    const over = AbortSignal.any([this.#stopping, reading.signal]);
    while (!over.aborted) {
      await wait(lookEveryMs, over);
      if (over.aborted) break;
      const state = await engine.stream(engine.names.log(machine)).catch(() => undefined);
      if (state !== undefined && (state?.lastSeq ?? 0) < this.#copy.position.seq) break;
    }
    reading.abort();
  }

  #show({ envelopes, bytes }: { envelopes: readonly Envelope[]; bytes: number }): void {
    const batch = { envelopes, isShared: true };
    for (const subscription of this.#subscriptions) subscription.offer(batch, bytes);
  }

  /** Shows events that were written here while it was paused. */
  async #showAfter(gseq: number): Promise<void> {
    if (this.#subscriptions.size === 0) return;
    for await (const envelopes of heldRuns(this.#journal, gseq)) {
      this.#show({ envelopes, bytes: envelopes.length * supposedBytes });
    }
  }

  #drop(what: string, error: unknown): void {
    this.#options.engine.dropped.tell(what, error instanceof Error ? error.message : String(error));
  }

  /** Makes the copy again from the log's first message. */
  async #startOver(error: DivergedError): Promise<void> {
    const { machine, file, writeLog } = this.#options;
    writeLog({ level: "warn", message: `Reading the log of "${machine}" again: ${error.message}.` });
    await this.#journal.close();
    // With its key: a key without its file would count as damage.
    for (const end of ["", "-wal", "-shm", ".key"]) await rm(`${file}${end}`, { force: true });
    this.#journal = await openCopy(this.#options);
    this.#copy = new LogCopy(this.#journal, { machine, position: logStart });
  }
}

function openCopy({ file, machine, writeLog }: MirrorOptions): Promise<Journal> {
  return openJournal(file, {
    onProblem: (message) => writeLog({ level: "warn", message: `Copy of "${machine}": ${message}` }),
  });
}
