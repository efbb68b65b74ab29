import { open } from "node:fs/promises";
import { createRequire } from "node:module";
import process from "node:process";
import type Database from "libsql";

/** A value in a row. */
export type SqlValue = string | number | null;

/**
 * A prepared statement. It runs at once, on this thread. Reading throws with the code `SQLITE_CORRUPT_TEXT` for a text
 * that is not UTF-8, as a damaged disk makes it: left to the library, such a text ends the whole process.
 */
export interface SqlStatement {
  run(...values: SqlValue[]): { changes: number };
  /** The first row, as an object; undefined when there is none. */
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

/** An open database file. */
export interface SqliteFile {
  /** Runs statements at once, on this thread. */
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  /** The same for a query that gives only numbers of rows, and texts as bytes. It costs less. */
  prepareBytes(sql: string): SqlStatement;
  /** Runs statements through a second connection, on another thread. */
  execAside(sql: string): Promise<void>;
  close(): void;
}

interface SqliteOptions {
  /** How long a statement waits for another process that holds a lock. */
  busyTimeoutMs: number;
}

interface AsideDatabase {
  exec(sql: string): Promise<void>;
  close(): void;
}

/** The library's two entries over the same native code: the one that runs statements at once, and the one with threads. */
interface Entries {
  "libsql": typeof Database;
  "libsql/promise": new (file: string, options: { timeout: number }) => AsideDatabase;
}

/**
 * Opens a database file; makes it when there is none, readable by its owner alone. Its folder must exist. The library
 * is native code and is loaded at the first call.
 * @throws {Error} of the file system, or of SQLite with a `code` such as `SQLITE_NOTADB`
 */
export async function openSqlite(file: string, options: SqliteOptions): Promise<SqliteFile> {
  await makeOwnFile(file);
  const database = new (loadSqlite("libsql"))(file, { timeout: options.busyTimeoutMs });
  const aside = openAside();
  return {
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => prepareSafely(database, sql),
    prepareBytes: (sql) => database.prepare(sql),
    execAside: (sql) => aside.exec(sql),
    close() {
      aside.close();
      database.close();
    },
  };

  function openAside(): AsideDatabase {
    try {
      return new (loadSqlite("libsql/promise"))(file, { timeout: options.busyTimeoutMs });
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** Prepares a query so that its texts come as bytes, whichever columns damage has turned into texts. */
function prepareSafely(database: Database.Database, sql: string): SqlStatement {
  const plain = database.prepare(sql);
  if (!/^\s*SELECT\b/i.test(sql)) return plain;
  const names = plain.columns().map(({ name }) => name);
  const columns = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  return /\bAS BLOB\b/i.test(sql)
    ? prepareMixed(database, { sql, names, columns })
    : prepareTexts(database, { sql, names, columns });
}

interface SafeQuery {
  sql: string;
  names: readonly string[];
  /** The names as SQL. */
  columns: readonly string[];
}

/** Prepares a query without bytes: its whole answer comes as one JSON text, which costs less than many values. */
function prepareTexts(database: Database.Database, { sql, names, columns }: SafeQuery): SqlStatement {
  const found = database.prepare(
    `SELECT CAST(json_group_array(json_array(${columns.join(", ")})) AS BLOB) AS rows_ FROM (${sql})`,
  );
  const all = (given: SqlValue[]): Record<string, unknown>[] => {
    const { rows_ } = found.get(...given) as { rows_: Uint8Array };
    const rows = JSON.parse(decodeText(rows_)) as unknown[][];
    return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
  };
  return {
    run: (...given) => found.run(...given),
    get: (...given) => all(given)[0],
    all: (...given) => all(given),
  };
}

/** Prepares a query of which some columns are bytes. */
function prepareMixed(database: Database.Database, { sql, names, columns }: SafeQuery): SqlStatement {
  const values = columns.map((at) => `CASE typeof(${at}) WHEN 'text' THEN CAST(${at} AS BLOB) ELSE ${at} END AS ${at}`);
  const texts = columns.map((at, index) => `(typeof(${at}) = 'text') * ${2 ** index}`).join(" + ");
  const found = database.prepare(
    `WITH found AS MATERIALIZED (${sql}) SELECT ${values.join(", ")}, ${texts} AS ${textsName} FROM found`,
  );
  return {
    run: (...given) => found.run(...given),
    get(...given) {
      const row: unknown = found.get(...given);
      return row === undefined ? undefined : decodeRow(row as BytesRow, names);
    },
    all: (...given) => found.all(...given).map((row) => decodeRow(row as BytesRow, names)),
  };
}

/** Column that tells which others are texts, a bit for each. */
const textsName = "texts_";

type BytesRow = Record<string, unknown> & { [textsName]: number };

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeRow(row: BytesRow, names: readonly string[]): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const [at, name] of names.entries()) {
    const value = row[name];
    decoded[name] = Math.floor(row[textsName] / 2 ** at) % 2 === 1 ? decodeText(value as Uint8Array) : value;
  }
  return decoded;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw Object.assign(new Error("a text is not UTF-8", { cause }), { code: "SQLITE_CORRUPT_TEXT" });
  }
}

/** Makes an empty file where there is none. SQLite's own would be readable for all. */
export async function makeOwnFile(file: string): Promise<void> {
  try {
    // Never opens a file that exists: closing it again would drop this process's locks on it.
    await (await open(file, "wx", 0o600)).close();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** Loads an entry of the library, the first time in about 10 ms. */
export function loadSqlite<E extends keyof Entries>(entry: E): Entries[E] {
  const require = createRequire(import.meta.url);
  // To learn which C library there is, it asks for a report on this process, most of which is its network connections.
  const { report } = process as { report?: { excludeNetwork?: boolean } };
  const before = report?.excludeNetwork;
  if (report) report.excludeNetwork = true;
  try {
    return require(entry);
  } finally {
    if (report && before !== undefined) report.excludeNetwork = before;
  }
}
