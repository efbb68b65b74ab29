import { rm } from "../../ground/platform/files/files.ts";
import { openSqlite, type SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { readNumber } from "../journal/journal-schema.ts";

/** Version of the tables. An index of another version is thrown away and made again: the journal has all of it. */
const version = 3;

/** How long a statement waits for another process. Milliseconds. */
const busyTimeoutMs = 2000;

const tables = `
  CREATE TABLE progress (id INTEGER PRIMARY KEY CHECK (id = 1), gseq INTEGER NOT NULL) STRICT;
  INSERT INTO progress VALUES (1, 0);
  CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1, tokenize='unicode61');
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
  CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    first_gseq INTEGER NOT NULL,
    end_gseq INTEGER
  ) STRICT;
  CREATE INDEX session_by_begin ON session (first_gseq);
  CREATE TABLE label (
    session INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE document (
    gseq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    adapter_id TEXT NOT NULL
  ) STRICT;
  CREATE INDEX document_by_session ON document (session);
  CREATE TABLE use (
    gseq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    adapter_id TEXT NOT NULL,
    permission TEXT NOT NULL,
    target TEXT NOT NULL,
    decision TEXT NOT NULL,
    event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX use_by_decision ON use (decision, gseq);
  CREATE INDEX use_by_adapter ON use (adapter_id, permission, gseq);
  CREATE TABLE request (
    session INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    gseq INTEGER NOT NULL,
    end_gseq INTEGER,
    PRIMARY KEY (session, request_id)
  ) STRICT;
  CREATE TABLE tick (gseq INTEGER PRIMARY KEY, at TEXT NOT NULL) STRICT;
  CREATE INDEX tick_by_time ON tick (at);
`;

/** Opens an index, and makes it where there is none, or one that cannot be used. */
export async function openIndex(file: string): Promise<SqliteFile> {
  try {
    return await prepared(file);
  } catch {
    await removeIndex(file);
    return await prepared(file);
  }
}

/** Removes a closed index. */
export async function removeIndex(file: string): Promise<void> {
  for (const ending of ["", "-wal", "-shm"]) await rm(`${file}${ending}`, { force: true });
}

async function prepared(file: string): Promise<SqliteFile> {
  const database = await openSqlite(file, { busyTimeoutMs });
  try {
    database.prepare("PRAGMA journal_mode = WAL").get();
    // After a power loss the index reads the lost part from the journal again.
    database.exec("PRAGMA synchronous = OFF");
    // Nothing of a deleted session stays in a free page.
    database.prepare("PRAGMA secure_delete = ON").get();
    const found = readNumber(database, "PRAGMA user_version", "user_version");
    if (found === 0) database.exec(`BEGIN; ${tables} PRAGMA user_version = ${version}; COMMIT`);
    else if (found !== version) throw new Error("the index has another version");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
