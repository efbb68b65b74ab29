import type * as Sqlite from "../../../core/ground/platform/state/sqlite.ts";
import { type FaultCode, FaultyFiles, faultyFiles, faultyPromises } from "./faulty-files.ts";

/** The faults of this process. */
export const faults: FaultyFiles = new FaultyFiles();

/** Modules that take the place of the system's and of the host's: see `vi.mock`. */
export const refusing = {
  promises: async (real: () => Promise<unknown>): Promise<Record<string, unknown>> =>
    faultyPromises(await real() as Parameters<typeof faultyPromises>[0], faults),
  files: async (real: () => Promise<unknown>): Promise<Record<string, unknown>> =>
    faultyFiles(await real() as Parameters<typeof faultyFiles>[0], faults),
  sqlite: async (real: () => Promise<unknown>): Promise<Record<string, unknown>> => {
    const sqlite = await real() as typeof Sqlite;
    const { openSqlite } = sqlite;
    return {
      ...sqlite,
      openSqlite: async (...given: Parameters<typeof openSqlite>) => faultySqlite(await openSqlite(...given), given[0]),
    };
  },
};

/** Refuses every statement that writes. */
function faultySqlite(database: Sqlite.SqliteFile, file: string): Sqlite.SqliteFile {
  const demand = (sql: string) => {
    if (!/^\s*rollback/i.test(sql)) faults.demandStatement(file);
  };
  return {
    ...database,
    exec: (sql) => (demand(sql), database.exec(sql)),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      const run: typeof statement.run = (...values) => (demand(sql), statement.run(...values));
      return { run, get: (...values) => statement.get(...values), all: (...values) => statement.all(...values) };
    },
  };
}

/** What a person is told of each fault. */
export const sentences: { readonly [C in FaultCode]: RegExp } = {
  ENOSPC: /disk of .* is full/,
  EDQUOT: /is full for this user|input\/output error/,
  EIO: /input\/output error/,
  EMFILE: /no file descriptors left|no permission/,
  EACCES: /no permission/,
  EROFS: /read-only|no permission/,
};
