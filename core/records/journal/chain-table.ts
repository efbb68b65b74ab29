import type { SqliteFile, SqlStatement } from "../../ground/platform/state/sqlite.ts";
import { type ChainBase, chainOrigin, type ChainPlace, type LinkContent, linkOfRow, type LostLinks } from "./chain.ts";
import { asBytes, lenientText } from "./damage.ts";
import type { JournalRow } from "./journal-row.ts";

/** A link without its batch: of an erased batch, or of a deletion. */
export interface BareLink extends ChainPlace, Omit<LinkContent, "kind"> {
  /** `erased` was a `batch`. */
  kind: "erased" | "deleted";
}

/** A row of the table of batches. */
export interface ChainedRow extends Omit<JournalRow, "opening" | "adapter_id" | "turn" | "ending" | "spent" | "facts"> {
  number: number | null;
  mac: string | null;
}

/** Prepared statements for the chain. */
export interface ChainTable {
  head(): ChainPlace & { last_gseq: number };
  /** Moves the head from one place to another; false when it is no longer there. */
  moveHead(from: ChainPlace, to: ChainPlace): boolean;
  /** Null while nothing was removed. */
  base(): ChainBase | null;
  setBase(base: ChainBase): void;
  insert(link: BareLink): void;
  /** Links without batches after a number, in order. */
  bareAfter(number: number, limit: number): BareLink[];
  /** Removes links and losses up to a number. */
  dropUpTo(number: number): void;
  /** A loss that begins at a number; null where there is none. */
  lostFrom(number: number): (LostLinks & { seal: string }) | null;
  noteLoss(lost: LostLinks & { seal: string }): void;
  /** True when a link records the deletion of this session. */
  isDeleted(sessionId: string): boolean;
  rowsAfter(gseq: number, limit: number): ChainedRow[];
  rowsOf(sessionId: string, limit: number): ChainedRow[];
  eraseRow: SqlStatement;
  /** The number of the first link with a batch; null where none has one. */
  firstNumber(): number | null;
}

/** The parts of a batch that its link vouches for, and its place; for {@link readChained}. */
export const rowColumns: string = `last_gseq, first_gseq, first_seq, last_seq, count, number, ${
  asBytes("session_id", "body", "mac")
}`;

const linkColumns = "number, kind, session_id, gseq, digest, mac";

/** Reads a row of {@link rowColumns}. Invalid UTF-8 becomes other text, which does not match its link. */
export function readChained(row: unknown): ChainedRow {
  const { session_id, body, mac, ...numbers } = row as ChainedRow;
  return { ...numbers, session_id: lenientText(session_id)!, body: lenientText(body)!, mac: lenientText(mac) };
}

/** Prepares the statements for the chain. */
export function prepareChainTable(database: SqliteFile): ChainTable {
  const head = database.prepare("SELECT head_number AS number, head_mac AS mac, last_gseq FROM state");
  const moveHead = database.prepare("UPDATE state SET head_number = ?, head_mac = ? WHERE head_number = ?");
  const base = database.prepare("SELECT number, mac, gseq, seal FROM base");
  const setBase = database.prepare("INSERT OR REPLACE INTO base VALUES (1, ?, ?, ?, ?)");
  const insert = database.prepare("INSERT INTO link VALUES (?, ?, ?, ?, ?, ?)");
  const bare = database.prepare(`SELECT ${linkColumns} FROM link WHERE number > ? ORDER BY number LIMIT ?`);
  const drops = [
    database.prepare("DELETE FROM link WHERE number <= ?"),
    database.prepare("DELETE FROM lost_link WHERE last <= ?"),
  ];
  const lost = database.prepare("SELECT first, last, mac, seal FROM lost_link WHERE first = ?");
  const noteLoss = database.prepare("INSERT OR REPLACE INTO lost_link (first, last, mac, seal) VALUES (?, ?, ?, ?)");
  const rows = database.prepare(`SELECT ${rowColumns} FROM batch WHERE last_gseq > ? ORDER BY last_gseq LIMIT ?`);
  const ofSession = database.prepare(
    `SELECT ${rowColumns} FROM batch WHERE session_id = ? ORDER BY last_gseq LIMIT ?`,
  );
  const deletion = database.prepare("SELECT number FROM link WHERE session_id = ? AND kind = 'deleted'");
  const first = database.prepare("SELECT number FROM batch ORDER BY last_gseq LIMIT 1");
  return {
    head: () => head.get() as ReturnType<ChainTable["head"]>,
    moveHead: (from, to) => moveHead.run(to.number, to.mac, from.number).changes === 1,
    base: () => base.get() as ChainBase | undefined ?? null,
    setBase: ({ number, mac, gseq, seal }) => void setBase.run(number, mac, gseq, seal),
    insert: ({ number, kind, session_id, gseq, digest, mac }) =>
      void insert.run(number, kind, session_id, gseq, digest, mac),
    bareAfter: (number, limit) => bare.all(number, limit) as BareLink[],
    isDeleted: (sessionId) => deletion.get(sessionId) !== undefined,
    dropUpTo: (number) => {
      for (const drop of drops) drop.run(number);
    },
    lostFrom: (number) => lost.get(number) as LostLinks & { seal: string } | undefined ?? null,
    noteLoss: ({ first, last, mac, seal }) => void noteLoss.run(first, last, mac, seal),
    rowsAfter: (gseq, limit) => rows.all(gseq, limit).map(readChained),
    rowsOf: (sessionId, limit) => ofSession.all(sessionId, limit).map(readChained),
    eraseRow: database.prepare("DELETE FROM batch WHERE last_gseq = ?"),
    firstNumber: () => (first.get() as { number: number | null } | undefined)?.number ?? null,
  };
}

/** Content that the code of a link without its batch vouches for. */
export function contentOf({ kind, session_id, gseq, digest }: BareLink): LinkContent {
  return { kind: kind === "erased" ? "batch" : kind, session_id, gseq, digest };
}

/** The link that remains once its row is erased. */
export function bareLinkOf(row: ChainedRow): BareLink {
  const { number, mac } = row;
  const { session_id, gseq, digest } = linkOfRow(row);
  return {
    number: number ?? chainOrigin.number,
    mac: mac ?? chainOrigin.mac,
    kind: "erased",
    session_id,
    gseq,
    digest,
  };
}
