import { accessSync, type BigIntStats, constants, lstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { loadSqlite, makeOwnFile } from "./sqlite.ts";

/** A connection that holds a lock as long as it is open. */
interface Connection {
  exec(sql: string): unknown;
  close(): unknown;
}

/** Keeps connections from being collected as garbage, which would close them. */
const held = new Set<Connection>();

/** A lock that this process holds until it releases it or ends. */
export interface OsLock {
  /** Identity of the locked file: a copy of its folder has another one. */
  file: string;
  /** Removes the file as well. */
  release(): Promise<void>;
}

/**
 * Takes the operating system's lock on an empty file, which is made where it is missing: SQLite's lock on a database,
 * which both runtimes have and which needs no hard links. It ends with this process, however that ends, holds against
 * every process that sees the file, in any container, and passes to no child. Null while another connection has it or
 * looks at it.
 *
 * Never open such a file in another way: to close it again would drop the locks of this process.
 * @throws {Error} of the file system, or of SQLite with a `code`; {@link BulkheadError} where no empty file stands there
 */
export async function takeOsLock(file: string): Promise<OsLock | null> {
  await makeOwnFile(file);
  const before = emptyFile(file);
  if (before === null) return null;
  // In memory: the default would put a file beside it.
  const connection = whereFree(open(file), "PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  if (connection === null) return null;
  if (!isSame(before, file)) return connection.close(), null;
  held.add(connection);
  return {
    file: idOf(before),
    async release() {
      if (!held.has(connection)) return;
      await rm(file, { force: true }).catch(() => {});
      held.delete(connection);
      connection.close();
    },
  };
}

/** Whether a file is still what it was. Its last holder may have removed it: a lock on that would keep no process off. */
function isSame({ ino, ctimeNs }: BigIntStats, file: string): boolean {
  const now = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return now?.ino === ino && now.ctimeNs === ctimeNs;
}

/** Whether any process holds the lock of a file now; false where there is no such file. */
export function isOsLockHeld(file: string): boolean {
  if (emptyFile(file) === null) return false;
  const connection = whereFree(open(file), "SELECT 1 FROM sqlite_master");
  connection?.close();
  return connection === null;
}

/** Returns the identity of a file that may be locked, as {@link OsLock} has it; null where there is none. */
export function lockedFile(file: string): string | null {
  const found = emptyFile(file);
  return found === null ? null : idOf(found);
}

/** SQLite names no more than what it could not do; the system says why. */
function open(file: string): Connection {
  try {
    return new (loadSqlite("libsql"))(file, { timeout: 0 });
  } catch (error) {
    accessSync(file, constants.R_OK | constants.W_OK);
    throw error;
  }
}

/** Runs statements that need the lock; null where another connection has it. */
function whereFree(connection: Connection, sql: string): Connection | null {
  try {
    connection.exec(sql);
    return connection;
  } catch (error) {
    connection.close();
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY") return null;
    throw error;
  }
}

/** Looks at the file of a lock; null where it is missing. SQLite would repair a file of other content. */
function emptyFile(file: string): BigIntStats | null {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false }) ?? null;
  if (found === null || (found.isFile() && found.size === 0n)) return found;
  throw new BulkheadError("io_error", `Cannot take the lock "${file}": something else stands there.`, {
    hint: "Move it away.",
  });
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}
