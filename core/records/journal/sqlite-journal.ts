import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { nextTurn, onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { Checkpointer } from "./checkpointer.ts";
import { damageIn } from "./damage.ts";
import { readNumber } from "./journal-schema.ts";
import { type JournalDatabaseOptions, usedBytes } from "./journal-database.ts";
import { closedError, journalError } from "./journal-error.ts";
import type { JournalLimits } from "./journal-limits.ts";
import { JournalRoom, type JournalRoomDeps } from "./journal-room.ts";
import { JournalReads } from "./journal-reader.ts";
import { type JournalRow, rowOf } from "./journal-row.ts";
import type { ChainPlace, NumberRun, Numbers } from "./chain.ts";
import type { DiskSync } from "./disk-sync.ts";
import { burySession, eraseBatches, foldChain } from "./erase-session.ts";
import { inTransaction, type JournalStatements, prepareStatements, writeRows } from "./journal-statements.ts";
import type { Journal, JournalBatch, ReadOptions } from "./journal.ts";
import type { LeftChild } from "./history-table.ts";
import type { KeyRecord } from "./key-table.ts";
import type { LostRange } from "./gap.ts";
import type { DeletedBy, SessionRecord } from "./session-record.ts";
import { forgetInUpgradeCopies } from "./upgrade-copy.ts";

/** How often appends look for room on a full disk. Milliseconds. */
const roomRetryMs = 50;

/** Rows erased in one transaction. */
const erasedInOneGo = 16;

interface Waiting {
  row: JournalRow;
  charge: JournalBatch["charge"];
  resolve(): void;
  reject(error: unknown): void;
}

/** Collaborators of the journal. */
interface SqliteJournalDeps extends JournalRoomDeps {
  disk: DiskSync | null;
  /** Numbers that no event has any more, the newest of them. */
  lostNumbers?: NumberRun | null;
}

/** A journal in one SQLite file. */
export class SqliteJournal extends JournalReads implements Journal {
  readonly #database: SqliteFile;
  readonly #file: string;
  readonly #limits: JournalLimits;
  readonly #key: Uint8Array;
  readonly #statements: JournalStatements;
  readonly #checkpointer: Checkpointer;
  readonly #disk: DiskSync | null;
  readonly #room: JournalRoom;
  readonly #waiting: Waiting[] = [];
  #isScheduled = false;
  #isPaused = false;
  #closing: Promise<void> | null = null;
  /** Set once the disk failed. */
  #failure: BulkheadError | null = null;
  #lastGseq: number;
  #head: ChainPlace;
  /** Numbers that no event has any more, the newest of them. */
  readonly #lostNumbers: NumberRun | null;
  /** Like `#lastGseq`, including rows that wait to be written. */
  #lastAccepted: number;

  constructor(database: SqliteFile, options: JournalDatabaseOptions & SqliteJournalDeps) {
    const statements = prepareStatements(database);
    super({ statements, limits: options.limits, look: (read) => this.#seen(read) });
    this.#database = database;
    this.#room = new JournalRoom(options.file, { ...options, waitMs: options.limits.room_wait_ms });
    this.#disk = options.disk;
    this.#file = options.file;
    this.#limits = options.limits;
    this.#key = options.key;
    this.#statements = statements;
    this.#lastGseq = this.#lastAccepted = readNumber(database, "SELECT last_gseq FROM state", "last_gseq");
    this.#head = this.#statements.chain.head();
    this.#lostNumbers = options.lostNumbers ? { ...options.lostNumbers } : null;
    this.#checkpointer = new Checkpointer({
      database,
      limits: options.limits,
      pauseCommits: (paused) => {
        this.#isPaused = paused;
        this.#schedule();
      },
    });
    options.health?.addCheck(async () => this.#tryToWrite());
  }

  get lastGseq(): number {
    return this.#lastGseq;
  }

  get waitsForDisk(): boolean {
    return this.#disk !== null;
  }

  async append(batch: JournalBatch): Promise<number> {
    if (this.#closing !== null) throw closedError();
    if (this.#failure !== null) throw this.#failure;
    this.#room.demandFolder();
    const row = rowOf(batch, this.#lastAccepted);
    if (row === null) return 0;
    this.#lastAccepted = row.last_gseq;
    const { charge } = batch;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ row, charge, resolve, reject });
      this.#schedule();
    });
    return row.body.length;
  }

  override async read(options: ReadOptions): Promise<Envelope[]> {
    // A reader of many pages must not block other work.
    await nextTurn();
    return await super.read(options);
  }

  async openSessions(): Promise<string[]> {
    return this.#seen(() => this.#statements.sessions.running());
  }

  async leftChildren(): Promise<LeftChild[]> {
    return this.#seen(() => this.#statements.history.left());
  }

  async delete(sessionId: string, by: DeletedBy, terms: { leftOpen?: boolean } = {}): Promise<boolean> {
    const head = this.#change(() => burySession(this.#statements, { sessionId, by, key: this.#key, ...terms }));
    if (head === null) return false;
    this.#head = head;
    await this.#erase(sessionId);
    await forgetInUpgradeCopies(this.#file, by);
    await this.#lasting();
    return true;
  }

  async findKey(name: string): Promise<KeyRecord | null> {
    return this.#seen(() => this.#statements.keys.find(name));
  }

  async noteKey(record: KeyRecord, most: number): Promise<void> {
    this.#change(() => this.#statements.keys.note(record, most));
    await this.#lasting();
  }

  async oldestEnded(): Promise<SessionRecord | null> {
    return this.#seen(() => this.#statements.sessions.oldestEnded());
  }

  async bytesOf(sessionId: string): Promise<number> {
    await nextTurn();
    return this.#seen(() => this.#statements.bytesOf(sessionId));
  }

  async usedBytes(): Promise<number> {
    return this.#seen(() => usedBytes(this.#database));
  }

  async sweep(): Promise<void> {
    for (;;) {
      const sessionId = this.#look(() => this.#statements.sessions.halfErased());
      if (sessionId === null) break;
      await this.#erase(sessionId);
      if (this.#closing !== null) return;
    }
    this.#change(() => this.#statements.sessions.forgetTombstones(this.#limits.tombstones));
  }

  /** Erases a session's rows, a few in a turn. */
  async #erase(sessionId: string): Promise<void> {
    const steps = [
      () => eraseBatches(this.#statements, sessionId, erasedInOneGo) > 0,
      () => foldChain(this.#statements, this.#key),
    ];
    for (const step of steps) {
      while (this.#change(step)) {
        await nextTurn();
        if (this.#closing !== null) return;
      }
    }
  }

  /** Reads, and returns it once it is as lasting as an acknowledged append. */
  async #seen<T>(read: () => T): Promise<T> {
    const value = this.#look(read);
    await this.#lasting();
    return value;
  }

  async #lasting(): Promise<void> {
    try {
      await this.#disk?.onDisk();
    } catch (error) {
      throw this.#room.failed(error);
    }
  }

  #look<T>(read: () => T): T {
    if (this.#closing !== null) throw closedError();
    try {
      return read();
    } catch (error) {
      throw journalError(`Cannot read the journal "${this.#file}"`, error);
    }
  }

  #change<T>(write: () => T): T {
    if (this.#closing !== null) throw closedError();
    try {
      const value = this.#room.write(() => inTransaction(this.#statements, write));
      this.#disk?.noteCommit();
      return value;
    } catch (error) {
      throw this.#room.failed(error);
    }
  }

  /** @throws {Error} while commits fail */
  #tryToWrite(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#closing !== null) return;
    inTransaction(this.#statements, () => this.#database.exec("UPDATE state SET last_gseq = last_gseq"));
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /** Notes events of a session that are lost, at a number that one of them had. */
  noteLost(lost: Omit<LostRange, "gseq" | "adapter_id">): void {
    const free = this.#lostNumbers;
    if (free === null || free.to < free.from) return;
    const gseq = free.to--;
    this.#change(() => this.#statements.lost.note({ ...lost, gseq }));
  }

  /**
   * Closes a damaged file without another write; appends that are not durable are refused.
   * @returns the numbers that were given out
   */
  async abandon(): Promise<Numbers> {
    this.#closing ??= this.#abandon();
    await this.#closing;
    return { last_gseq: this.#lastGseq, ...this.#head };
  }

  async #abandon(): Promise<void> {
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
    await this.#disk?.close();
    await this.#checkpointer.stop();
    this.#database.close();
  }

  async #close(): Promise<void> {
    while (this.#waiting.length > 0) await nextTurn();
    await this.#disk?.close();
    await this.#checkpointer.finish();
    this.#database.close();
  }

  /** Puts all appends of one turn, or those made while commits are paused, into one transaction. */
  #schedule(when: (commit: () => void) => void = queueMicrotask): void {
    if (this.#isScheduled || this.#isPaused || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    when(() => {
      this.#isScheduled = false;
      if (!this.#isPaused) this.#commitChunk();
      // The rest waits for the next turn, so that other work can run.
      this.#schedule(!this.#room.isShort ? onNextTurn : (commit) => void setTimeout(commit, roomRetryMs));
    });
  }

  #commitChunk(): void {
    const chunk = this.#takeChunk();
    if (chunk.length === 0) return;
    const started = performance.now();
    try {
      const rows = chunk.map(({ row }) => row);
      const last = rows.some(({ ending }) => ending !== null);
      const write = () => writeRows(this.#statements, rows, { key: this.#key, head: this.#head });
      this.#head = this.#room.write(write, { last });
      this.#lastGseq = rows.at(-1)?.last_gseq ?? this.#lastGseq;
    } catch (error) {
      if (this.#room.mayWait(error)) {
        this.#waiting.unshift(...chunk);
        return;
      }
      const failure = this.#room.failed(error);
      // A later row must not be written where this one could not.
      if (damageIn(error) !== null) this.#failure ??= failure;
      // The waiting rows continue this chunk's numbers, so they must fail with it.
      for (const { reject } of [...chunk, ...this.#waiting.splice(0)]) reject(failure);
      return;
    }
    this.#acknowledge(chunk);
    const bytes = chunk.reduce((sum, { row }) => sum + row.body.length, 0);
    const ms = performance.now() - started;
    for (const { row, charge } of chunk) charge?.(ms * row.body.length / bytes);
    this.#checkpointer.noteCommit(bytes);
  }

  /** Reports a commit, with `sync: full` once the disk has it. */
  #acknowledge(chunk: readonly Waiting[]): void {
    if (this.#disk === null) {
      for (const { resolve } of chunk) resolve();
      return;
    }
    this.#disk.noteCommit();
    this.#disk.onDisk().then(() => {
      for (const { resolve } of chunk) resolve();
    }, (error: unknown) => {
      const failure = this.#room.failed(error);
      // Their rows may be there at the next start, so no later row may take their numbers.
      this.#failure ??= failure;
      for (const { reject } of [...chunk, ...this.#waiting.splice(0)]) reject(failure);
    });
  }

  /** Takes as many waiting rows as fit one transaction without holding up the event loop for long. */
  #takeChunk(): Waiting[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && bytes < this.#limits.commit_bytes; count++) {
      bytes += this.#waiting[count]?.row.body.length ?? 0;
    }
    return this.#waiting.splice(0, count);
  }
}
