import { open } from "node:fs/promises";
import { createRequire } from "node:module";
import process from "node:process";
import type Database from "libsql";

/** A value in a row. */
export type SqlValue = string | number | null;

/** A prepared statement. It runs at once, on this thread. */
export interface SqlStatement {
  run(...values: SqlValue[]): { changes: number };
  /** The first row, as an object; undefined when there is none. */
  get(...values: SqlValue[]): unknown;
  /** All rows, as objects. */
  all(...values: SqlValue[]): unknown[];
}

/** An open database file. */
export interface SqliteFile {
  /** Runs statements at once, on this thread. */
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  /** Runs statements through a second connection, on another thread. */
  execAside(sql: string): Promise<void>;
  close(): void;
}

/** Options of {@link openSqlite}. */
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
  const aside = new (loadSqlite("libsql/promise"))(file, { timeout: options.busyTimeoutMs });
  return {
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    execAside: (sql) => aside.exec(sql),
    close() {
      aside.close();
      database.close();
    },
  };
}

/**
 * Makes an empty file where there is none. Left to SQLite, it would be readable for all, and a failure be no more than a
 * number.
 */
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
