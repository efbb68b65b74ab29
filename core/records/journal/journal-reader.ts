import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { openSqlite, type SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { damageIn } from "./damage.ts";
import { closedError, journalError } from "./journal-error.ts";
import { defaultJournalLimits, type JournalLimits } from "./journal-limits.ts";
import { readNumber, schemaVersion } from "./journal-schema.ts";
import { type JournalStatements, prepareStatements } from "./journal-statements.ts";
import type { Cursor, Journal, ReadOptions } from "./journal.ts";
import { readPage } from "./read-page.ts";
import type { GroupPage } from "./session-groups.ts";
import { groupPage, listSessions } from "./session-pages.ts";
import type { SessionFilter, SessionRecord, SessionSpan } from "./session-record.ts";
import type { SpentPage, SpentRecord } from "./spend-table.ts";

/** A journal that is only read, and may be another host's which is writing to it. */
export interface JournalReader extends JournalContent {
  close(): void;
}

/** Content of a journal, whether it is written to here or only read. */
type JournalContent = Pick<Journal, "read" | "session" | "sessions" | "groups" | "history" | "spent" | "cursorOf">;

/**
 * Opens a journal without changing anything about it.
 * @param options `onDamage`: called with the problem of a read that finds damage, which throws as well
 * @throws {BulkheadError} `not_found`; `journal_error` for one that cannot be read or that another version wrote
 */
export async function openJournalReader(
  file: string,
  { onDamage }: { onDamage?(problem: string): void } = {},
): Promise<JournalReader> {
  const database = await openToRead(file, "read");
  try {
    return new Reader(database, { file, onDamage });
  } catch (error) {
    database.close();
    throw journalError(`Cannot read the journal "${file}"`, error);
  }
}

/**
 * The database of a journal that is there and of this version.
 * @param act what it is opened for, as in "Cannot verify the journal"
 * @throws {BulkheadError} `not_found`, `journal_error`
 */
export async function openToRead(file: string, act: string): Promise<SqliteFile> {
  if (!(await stat(file).then((found) => found.isFile(), () => false))) {
    throw new BulkheadError("not_found", `Cannot ${act} the journal "${file}": there is no such file.`);
  }
  let database: SqliteFile | null = null;
  try {
    database = await openSqlite(file, { busyTimeoutMs: defaultJournalLimits.busy_timeout_ms });
    const version = readNumber(database, "PRAGMA user_version", "user_version");
    if (version !== schemaVersion) throw versionError({ file, act, version });
    return database;
  } catch (error) {
    database?.close();
    throw journalError(`Cannot ${act} the journal "${file}"`, error);
  }
}

interface JournalReadsOptions {
  statements: JournalStatements;
  limits: JournalLimits;
  /** Runs a read of the database, and names the journal in its error. */
  look<T>(read: () => T): T | Promise<T>;
}

/** Reads of a journal's tables. */
export class JournalReads implements JournalContent {
  readonly #statements: JournalStatements;
  readonly #limits: JournalLimits;
  readonly #look: JournalReadsOptions["look"];

  constructor({ statements, limits, look }: JournalReadsOptions) {
    this.#statements = statements;
    this.#limits = limits;
    this.#look = look;
  }

  async read(options: ReadOptions): Promise<Envelope[]> {
    const { findRow, sessions, lost } = this.#statements;
    const source = { findRow, findTombstones: sessions.findTombstones, findLost: lost.find };
    return await this.#look(() => readPage(options, { limits: this.#limits, ...source }));
  }

  async session(sessionId: string): Promise<SessionRecord | null> {
    return await this.#look(() => this.#statements.sessions.get(sessionId));
  }

  async sessions(filter: SessionFilter): Promise<SessionRecord[]> {
    return await listSessions((read) => this.#look(() => read(this.#statements.sessions)), filter);
  }

  async groups(span: SessionSpan, before: SessionFilter["before"]): Promise<GroupPage> {
    return await groupPage((read) => this.#look(() => read(this.#statements.sessions)), span, before);
  }

  async history(sessionId: string): Promise<SessionHistory> {
    return await this.#look(() => this.#statements.history.get(sessionId));
  }

  async spent(page: SpentPage): Promise<SpentRecord[]> {
    return await this.#look(() => this.#statements.spend.page(page));
  }

  async cursorOf(sessionId: string, seq: number): Promise<Cursor | null> {
    return await this.#look(() => this.#statements.findCursor(sessionId, seq));
  }
}

interface ReaderOptions {
  file: string;
  onDamage: ((problem: string) => void) | undefined;
}

class Reader extends JournalReads implements JournalReader {
  readonly #database: SqliteFile;
  readonly #file: string;
  readonly #onDamage: ((problem: string) => void) | undefined;
  #isClosed = false;

  constructor(database: SqliteFile, { file, onDamage }: ReaderOptions) {
    const statements = prepareStatements(database);
    super({ statements, limits: defaultJournalLimits, look: (read) => this.#look(read) });
    this.#database = database;
    this.#file = file;
    this.#onDamage = onDamage;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#database.close();
  }

  #look<T>(read: () => T): T {
    if (this.#isClosed) throw closedError();
    try {
      return read();
    } catch (error) {
      const problem = damageIn(error);
      if (problem !== null) this.#onDamage?.(problem);
      throw journalError(`Cannot read the journal "${this.#file}"`, error);
    }
  }
}

function versionError({ file, act, version }: { file: string; act: string; version: number }): BulkheadError {
  return new BulkheadError(
    "journal_error",
    `Cannot ${act} the journal "${file}": another version of the host wrote it.`,
    {
      hint: version < schemaVersion
        ? "Start the host once, which brings it up to date."
        : "Use the version that wrote it.",
      details: { schema_version: version, known_version: schemaVersion },
    },
  );
}
