import type { SqliteFile, SqlStatement } from "../../../ground/platform/state/sqlite.ts";
import type { ChainedRow } from "../chain-table.ts";
import { undamaged } from "../damage.ts";
import { envelopesAfter } from "../journal-row.ts";
import type { Numbers } from "../chain.ts";
import { sessionColumns } from "../session-table.ts";
import type { Draft } from "./draft.ts";
import { type KnownRow, knownRow } from "./known-rows.ts";
import { LeafCells } from "./leaf-cells.ts";
import { PageFile } from "./page-file.ts";

/** Facts that a damaged file tells beside its rows. */
export interface ReadFile {
  /** Null where its state cannot be read. */
  numbers: Numbers | null;
  /** Frames of its log that cannot be read. */
  damagedFrames: number;
}

/** Tables of what was read, until it is in its place. */
export const sideTables: string = `
  CREATE TABLE was_session (${sessionColumns.join(", ")}, PRIMARY KEY (session_id)) WITHOUT ROWID;
  CREATE TABLE was_lost_event (session_id, from_seq, to_seq, PRIMARY KEY (session_id, from_seq, to_seq)) WITHOUT ROWID;
  CREATE TABLE was_lost_link (first, last, PRIMARY KEY (first, last)) WITHOUT ROWID;
`;

/** Copies all rows that can be read into a draft with {@link sideTables}. The damaged file is only read. */
export async function readRows(file: string, draft: Draft): Promise<ReadFile> {
  const pages = await PageFile.open(file);
  try {
    const free = await pages.freePages();
    const cells = new LeafCells(pages);
    const write = prepareCopy(draft.database);
    let numbers: Numbers | null = null;
    draft.begin();
    for (let page = 1; page <= pages.pageCount; page++) {
      if (free.has(page)) continue;
      for await (const found of cells.rowsOf(page)) {
        const known = knownRow(found);
        if (known === null) continue;
        if (known.table === "state") numbers = newest(numbers, known.row);
        else await draft.step(write(known));
      }
      await draft.step(0);
    }
    await draft.commit();
    return { numbers, damagedFrames: pages.damagedFrames };
  } finally {
    await pages.close();
  }
}

function newest(one: Numbers | null, other: Numbers): Numbers {
  return one !== null && one.last_gseq >= other.last_gseq ? one : other;
}

type CopiedRow = Exclude<KnownRow, { table: "state" }>;

/** Prepares the copying of a row; it returns the bytes that it wrote. */
function prepareCopy(database: SqliteFile): (known: CopiedRow) => number {
  const insert = (table: string, marks: number): SqlStatement =>
    database.prepare(`INSERT OR IGNORE INTO ${table} VALUES (${Array<string>(marks).fill("?").join(", ")})`);
  const inserts = {
    batch: insert("batch", 9),
    link: insert("link", 6),
    base: database.prepare("INSERT OR REPLACE INTO base VALUES (1, ?, ?, ?, ?)"),
    idempotency: insert("idempotency", 4),
    lost_event: insert("was_lost_event", 3),
    lost_link: insert("was_lost_link", 2),
    session: prepareSessionCopy(database),
  };
  return (known) => {
    if (known.table === "batch" && !isWhole(known.row)) return 0;
    inserts[known.table].run(...valuesOf(known));
    return known.table === "batch" ? known.row.body.length : 200;
  };
}

/** Values of a row in the order of its table's columns. */
function valuesOf(known: CopiedRow): (string | number | null)[] {
  switch (known.table) {
    case "batch": {
      const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, body, number, mac } = known.row;
      return [last_gseq, first_gseq, session_id, first_seq, last_seq, count, body, number, mac];
    }
    case "link": {
      const { number, kind, session_id, gseq, digest, mac } = known.row;
      return [number, kind, session_id, gseq, digest, mac];
    }
    case "base":
      return [known.row.number, known.row.mac, known.row.gseq, known.row.seal];
    case "session":
      return known.values;
    case "idempotency":
      return [known.number, known.row.name, known.row.digest, known.row.session_id];
    case "lost_event":
      return [known.session_id, known.from_seq, known.to_seq];
    case "lost_link":
      return [known.first, known.last];
  }
}

function prepareSessionCopy(database: SqliteFile): SqlStatement {
  // A page that is no longer in use may hold what the session was before.
  return database.prepare(
    `INSERT INTO was_session VALUES (${sessionColumns.map(() => "?").join(", ")})
      ON CONFLICT (session_id) DO UPDATE SET (${sessionColumns.join(", ")}) =
      (${sessionColumns.map((name) => `excluded.${name}`).join(", ")}) WHERE excluded.state > state`,
  );
}

/** Whether the envelopes of a batch are those that the row names. */
function isWhole({ session_id, first_gseq, last_gseq, first_seq, last_seq, count, body }: ChainedRow): boolean {
  try {
    const envelopes = undamaged("a batch", () => envelopesAfter(body, 0));
    const [first] = envelopes;
    const last = envelopes.at(-1);
    return envelopes.length === count && first?.gseq === first_gseq && last?.gseq === last_gseq &&
      first.seq === first_seq && last.seq === last_seq && first.session_id === session_id;
  } catch {
    return false;
  }
}
