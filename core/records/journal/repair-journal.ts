import { rename, rm, stat } from "../../ground/runtime/files.ts";
import { openSqlite, type SqliteFile } from "../../ground/runtime/sqlite.ts";
import { type BareLink, type ChainedRow, prepareChainTable, readChained, rowColumns } from "./chain-table.ts";
import type { ChainBase } from "./chain.ts";
import { repairDraft } from "./check-journal.ts";
import { factOf } from "./history-fact.ts";
import { prepareHistoryTable } from "./history-table.ts";
import { envelopesAfter } from "./journal-row.ts";
import { asBytes, lenientText } from "./damaged-text.ts";
import { type KeyRecord, prepareKeyTable } from "./key-table.ts";
import { migrate } from "./journal-schema.ts";
import { endingOf, openingOf } from "./session-record.ts";
import { prepareSessionTable, sessionColumns, type SessionTable } from "./session-table.ts";

/** Result of a repair. */
interface RepairReport {
  /** Path of the damaged journal, which is kept untouched. */
  aside: string;
  /** Problem of the damaged journal. */
  problem: string;
  /** Readable events, which the new journal holds. */
  events: number;
  /** True when a part was unreadable: only the file set aside still holds the rest of it. */
  incomplete: boolean;
}

/**
 * Sets a damaged journal aside and replaces it with a new one that holds all readable content. No other process may
 * have it open. Copies the chain unchanged, so that a verification shows missing parts. The new journal takes the place
 * only once it is complete: a partial one would give numbers out again.
 * @throws {Error} of the file system, or of SQLite for the new file
 */
export async function repairJournal(
  file: string,
  { key, problem, busyTimeoutMs }: { key: Uint8Array; problem: string; busyTimeoutMs: number },
): Promise<RepairReport> {
  const draft = repairDraft(file);
  for (const end of ["", "-journal", "-wal", "-shm"]) await rm(`${draft}${end}`, { force: true });
  const database = await openSqlite(draft, { busyTimeoutMs });
  let copied: Pick<RepairReport, "events" | "incomplete">;
  try {
    migrate(database, { file, key });
    const damaged = await openSqlite(file, { busyTimeoutMs }).catch(() => null);
    copied = damaged === null ? { events: 0, incomplete: true } : copyAll(damaged, database);
    damaged?.close();
  } finally {
    database.close();
  }
  await rename(draft, repairedFile(file));
  return { aside: await moveIn(file), problem, ...copied };
}

/**
 * Finishes a repair whose host was killed between its last write and its end.
 * @returns path of the damaged journal; null when there was no such repair
 */
export async function finishRepair(file: string): Promise<string | null> {
  const isLeft = await stat(repairedFile(file)).then(() => true, () => false);
  return isLeft ? await moveIn(file) : null;
}

function repairedFile(file: string): string {
  return `${file}.repaired`;
}

async function moveIn(file: string): Promise<string> {
  const aside = `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  for (const end of ["-wal", "-shm", ""]) {
    await rename(`${file}${end}`, `${aside}${end}`).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    });
  }
  await rename(repairedFile(file), file);
  return aside;
}

/** Describes a repair for the operator. */
export function sentenceOf({ aside, problem, events, incomplete }: RepairReport, file: string): string {
  const lost = incomplete ? " What could not be read is in that file alone." : "";
  return `The journal "${file}" was damaged (${problem}). It was set aside as "${aside}", and ${events} events that ` +
    `could be read were copied into a new one.${lost}`;
}

function copyAll(from: SqliteFile, to: SqliteFile): Pick<RepairReport, "events" | "incomplete"> {
  to.exec("BEGIN IMMEDIATE");
  const batches = copyBatches(from, to);
  const others = copyOthers(from, to);
  noteHistory(to, batches.read);
  const state = attempt(() => prepareChainTable(from).head());
  const newest = attempt(() =>
    to.prepare("SELECT last_gseq, number, mac FROM batch ORDER BY last_gseq DESC LIMIT 1").get()
  );
  const last = newest as Pick<ChainedRow, "last_gseq" | "number" | "mac"> | null | undefined;
  const write = to.prepare("UPDATE state SET last_gseq = ?, head_number = ?, head_mac = ?");
  if (state) write.run(Math.max(state.last_gseq, last?.last_gseq ?? 0), state.number, state.mac);
  // The numbers given out so far are unknown: the time is beyond all of them.
  else write.run(Date.now(), last?.number ?? 0, last?.mac ?? "0".repeat(64));
  to.exec("COMMIT");
  return { events: batches.events, incomplete: batches.incomplete || others || !state };
}

/** For a journal older than the chain. */
const columnsBefore: string = `last_gseq, first_gseq, first_seq, last_seq, count, NULL AS number, NULL AS mac, ${
  asBytes("session_id", "body")
}`;

type Copied = Parameters<SessionTable["note"]>[0];

/** Copies from the beginning up to the unreadable part, and from the end down to it. */
function copyBatches(
  from: SqliteFile,
  to: SqliteFile,
): Pick<RepairReport, "events" | "incomplete"> & { read: Copied[] } {
  const insert = to.prepare("INSERT OR IGNORE INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const sessions = prepareSessionTable(to);
  let events = 0;
  let isUnread = false;
  const read: Copied[] = [];
  const copy = (row: ChainedRow): void => {
    const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, body, number, mac } = row;
    const envelopes = attempt(() => envelopesAfter(body, 0)) ?? [];
    const [first] = envelopes;
    const last = envelopes.at(-1);
    if (last?.gseq !== last_gseq || envelopes.length !== count) return void (isUnread = true);
    if (insert.run(last_gseq, first_gseq, session_id, first_seq, last_seq, count, body, number, mac).changes === 0) {
      return;
    }
    events += count;
    const opening = first?.seq === 1 ? attempt(() => openingOf(first)) : null;
    const ending = attempt(() => endingOf(last));
    const facts = envelopes.flatMap((envelope) => attempt(() => factOf(envelope)) ?? []);
    read.push({ ...row, body: "", opening, adapter_id: adapterIn(facts), ending, facts });
  };
  const upward = walk(from, { sql: "last_gseq > ? ORDER BY last_gseq", start: -1, copy });
  const downward = upward.failed &&
    walk(from, { sql: "last_gseq < ? ORDER BY last_gseq DESC", start: Number.MAX_SAFE_INTEGER, copy, until: upward.at })
      .failed;
  read.sort((one, other) => one.last_gseq - other.last_gseq);
  for (const row of read) sessions.note(row);
  return { events, incomplete: upward.failed || downward || isUnread, read };
}

/** Skips the facts of deleted sessions, of which only some batches may be left. */
function noteHistory(to: SqliteFile, read: readonly Copied[]): void {
  const history = prepareHistoryTable(to);
  const deleted = to.prepare("SELECT 1 FROM session WHERE session_id = ? AND deleted_at IS NOT NULL");
  for (const { session_id, facts } of read) {
    if (facts.length > 0 && deleted.get(session_id) !== undefined) continue;
    for (const fact of facts) history.note(session_id, fact);
  }
}

function adapterIn(facts: Copied["facts"]): string | null {
  return facts.findLast((fact) => fact.what === "attempt")?.row.adapter_id ?? null;
}

function walk(
  from: SqliteFile,
  { sql, start, copy, until }: { sql: string; start: number; copy(row: ChainedRow): void; until?: number },
): { at: number; failed: boolean } {
  let at = start;
  try {
    const columns = attempt(() => from.prepare("SELECT number, mac FROM batch")) === null ? columnsBefore : rowColumns;
    const next = from.prepare(`SELECT ${columns} FROM batch WHERE ${sql} LIMIT 1`);
    for (;;) {
      const found = next.get(at);
      if (found === undefined) return { at, failed: false };
      const row = readChained(found);
      if (row.last_gseq === until) return { at, failed: false };
      copy(row);
      at = row.last_gseq;
    }
  } catch {
    return { at, failed: true };
  }
}

const numberColumns = new Set(["first_gseq", "state", "last_gseq", "last_seq"]);

/**
 * Copies content beside the batches: links without one, the base of the chain, tombstones. True when something failed.
 */
function copyOthers(from: SqliteFile, to: SqliteFile): boolean {
  // All are tried: one that cannot be read costs only its own content.
  return [copyLinks, copyBase, copySessions, copyKeys].map((copy) => copy(from, to)).includes(false);
}

function copyLinks(from: SqliteFile, to: SqliteFile): boolean {
  const link = to.prepare("INSERT OR IGNORE INTO link VALUES (?, ?, ?, ?, ?, ?)");
  return succeeds(() => {
    for (const row of from.prepare("SELECT * FROM link").all() as BareLink[]) {
      link.run(row.number, row.kind, row.session_id, row.gseq, row.digest, row.mac);
    }
  });
}

function copyBase(from: SqliteFile, to: SqliteFile): boolean {
  const base = to.prepare("INSERT OR REPLACE INTO base VALUES (1, ?, ?, ?, ?)");
  return succeeds(() => {
    for (const { number, mac, gseq, seal } of from.prepare("SELECT * FROM base").all() as ChainBase[]) {
      base.run(number, mac, gseq, seal);
    }
  });
}

function copySessions(from: SqliteFile, to: SqliteFile): boolean {
  const marks = sessionColumns.map(() => "?").join(", ");
  const session = to.prepare(`INSERT OR REPLACE INTO session (${sessionColumns.join(", ")}) VALUES (${marks})`);
  const read = sessionColumns.map((name) => (numberColumns.has(name) ? name : asBytes(name)));
  return succeeds(() => {
    for (const row of from.prepare(`SELECT ${read.join(", ")} FROM session`).all() as Record<string, unknown>[]) {
      session.run(...sessionColumns.map((name) => {
        const value = row[name];
        return typeof value === "number" ? value : lenientText(value ?? null);
      }));
    }
  });
}

function copyKeys(from: SqliteFile, to: SqliteFile): boolean {
  const keys = prepareKeyTable(to);
  const read = `SELECT ${asBytes("name", "digest", "session_id")} FROM idempotency ORDER BY number`;
  return succeeds(() => {
    for (const row of from.prepare(read).all() as Record<keyof KeyRecord, unknown>[]) {
      const [name, digest, session_id] = [row.name, row.digest, row.session_id].map((value) =>
        lenientText(value) ?? ""
      );
      keys.note({ name: name!, digest: digest!, session_id: session_id! }, Number.MAX_SAFE_INTEGER);
    }
  });
}

/** Tries an action; false when it throws. */
function succeeds(act: () => void): boolean {
  return attempt(() => act() ?? true) !== null;
}

/** The result of an action; null when it throws. */
function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
