import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { isSameText } from "../../ground/platform/files/hash.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { chainKeyFile, readChainKey } from "./chain-key.ts";
import {
  type ChainBase,
  chainOrigin,
  type ChainPlace,
  type LinkContent,
  linkOfRow,
  type LostLinks,
  nextPlace,
  sealBase,
  sealLoss,
} from "./chain.ts";
import { type BareLink, type ChainedRow, type ChainTable, contentOf, prepareChainTable } from "./chain-table.ts";
import { checkStructure, goneProblem, markSuspect } from "./check-journal.ts";
import { checkTables, type Misstated, type TableCheck } from "./check-tables.ts";
import { DamageError, damageIn } from "./damage.ts";
import { journalError } from "./journal-error.ts";
import { openToRead } from "./journal-reader.ts";
import { definedNames } from "./journal-schema.ts";

/** A place in a journal that differs from its host's writes. */
export interface ChainProblem {
  /**
   * `changed`: a batch does not match its link. `missing`: a link, with its batch, is missing. `unordered`: a batch
   * stands where another belongs. `unchained`: a batch has no link. `erased`: a batch is gone and its session was
   * never deleted. `truncated`: the chain ends before its head. `rewritten`: the kept head was never there.
   * `misstated`: the tables of a session, its attempts, programs or grants contradict its events. `foreign`: a table,
   * trigger or index that the host did not define.
   */
  problem:
    | "changed"
    | "missing"
    | "unordered"
    | "unchained"
    | "erased"
    | "truncated"
    | "rewritten"
    | "misstated"
    | "foreign";
  /** Number of the link; the first one of several missing. */
  link: number;
  /** Number of affected links in a row. */
  links: number;
  /** Null where the session is unknown. */
  session_id: string | null;
  /** First and last event of the batch, or the events around a missing part. */
  from_gseq: number | null;
  to_gseq: number | null;
  /** Name of the foreign part. */
  name?: string;
}

/** Result of {@link verifyJournal}. */
export interface ChainReport {
  ok: boolean;
  /** Batches and events that exist and match. */
  batches: number;
  events: number;
  /** Links of batches that were erased with their session. */
  erased: number;
  /** Links that the host knows to be lost with a damaged file. */
  lost: number;
  /** The first remaining link, less one: the links before it were erased and folded away. */
  base: number;
  /** Head to keep somewhere else. */
  head: ChainPlace;
  /** Location of the kept head: in the chain, or before all that is left of it. Null where none was given. */
  kept_head: "found" | "folded" | "missing" | null;
  problems: ChainProblem[];
  more_problems: number;
}

interface VerifyOptions {
  /** A head that was kept: the chain must hold it. */
  head?: ChainPlace | undefined;
  /** Called now and then with the number of checked links and of all links. */
  onProgress?(done: number, all: number): void;
}

const maxProblems = 100;
const pageRows = 32;

/**
 * Checks the structure of a journal, every batch against its link, every link against the one before, and the tables of
 * sessions against their events. The journal may be in use. One that is damaged is marked: its host, or the next one,
 * sets it aside.
 * @param file path of the journal, with its key beside it
 * @throws {BulkheadError} `not_found` for a journal or key that is not there, `journal_error` for one that cannot be
 * read
 */
export async function verifyJournal(file: string, options: VerifyOptions = {}): Promise<ChainReport> {
  const keyFile = chainKeyFile(file);
  if (!(await stat(keyFile).then((found) => found.isFile(), () => false))) {
    throw new BulkheadError("not_found", `Cannot verify the journal "${file}": its key "${keyFile}" is not there.`);
  }
  const gone = await goneProblem(file);
  if (gone !== null) throw journalError(`Cannot verify the journal "${file}"`, new DamageError(gone));
  const database = await openToRead(file, "verify");
  try {
    const key = await readChainKey(keyFile);
    await checkStructure(database);
    // Reads one consistent state, also while a host writes.
    database.exec("BEGIN");
    const chain = prepareChainTable(database);
    const tables = checkTables(database, (sessionId) => chain.isDeleted(sessionId));
    const verification = new Verification(chain, key, { ...options, tables });
    verification.define(foreignNames(database));
    const report = await verification.run();
    // Closing alone would keep the read transaction open for a while.
    database.exec("ROLLBACK");
    if (verification.isDamaged) {
      await markSuspect(file, `${report.problems[0]?.problem} content, found by a verification`);
    }
    return report;
  } catch (error) {
    const damage = damageIn(error);
    if (damage !== null) await markSuspect(file, damage);
    throw journalError(`Cannot verify the journal "${file}"`, error);
  } finally {
    database.close();
  }
}

/** Tables, triggers and indexes in a journal that its schema does not define. */
function foreignNames(database: SqliteFile): string[] {
  const rows = database.prepare("SELECT name FROM sqlite_schema ORDER BY name").all() as { name: string }[];
  const own = new Set(definedNames);
  return rows.map(({ name }) => name).filter((name) => !own.has(name) && !name.startsWith("sqlite_"));
}

class Verification {
  readonly #table: ChainTable;
  readonly #key: Uint8Array;
  readonly #options: VerifyOptions;
  readonly #tables: TableCheck;
  readonly #head: ReturnType<ChainTable["head"]>;
  readonly #report: ChainReport;
  #isDamaged = false;
  #place: ChainPlace;
  /** Number of the event before. */
  #gseq: number;
  /** Number of the last event at the last link of a batch. */
  #lastGseq: number;
  /** Sessions with erased batches whose deletion was not found yet, with the first such link. */
  readonly #erased = new Map<string, { link: number; gseq: number }>();

  constructor(table: ChainTable, key: Uint8Array, { tables, ...options }: VerifyOptions & { tables: TableCheck }) {
    this.#table = table;
    this.#key = key;
    this.#tables = tables;
    this.#options = options;
    this.#head = table.head();
    const base = table.base();
    this.#place = base ?? chainOrigin;
    this.#gseq = this.#lastGseq = base?.gseq ?? 0;
    this.#report = {
      ok: true,
      batches: 0,
      events: 0,
      erased: 0,
      lost: 0,
      base: this.#place.number,
      head: { number: this.#head.number, mac: this.#head.mac },
      kept_head: options.head === undefined ? null : "missing",
      problems: [],
      more_problems: 0,
    };
    if (base !== null) this.#checkBase(base);
  }

  /** Whether there is a problem of the file itself, and not of a head that was kept. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** Takes the names that no schema defines. */
  define(foreign: readonly string[]): void {
    for (const name of foreign) {
      this.#problem("foreign", { link: 0, session_id: null, from_gseq: null, to_gseq: null, name });
    }
  }

  async run(): Promise<ChainReport> {
    this.#meet(this.#place);
    const rows = this.#pages((after) => this.#table.rowsAfter(after, pageRows), (row) => row.last_gseq, 0);
    const links = this.#pages(
      (after) => this.#table.bareAfter(after, pageRows),
      (link) => link.number,
      this.#report.base,
    );
    let row = (await rows.next()).value;
    let link = (await links.next()).value;
    while (row || link) {
      const expected = this.#place.number + 1;
      if (row && row.number === expected) {
        this.#batch(row);
        row = (await rows.next()).value;
      } else if (link && link.number === expected) {
        this.#bare(link);
        link = (await links.next()).value;
      } else if (row && (row.number === null || row.mac === null || row.number < expected)) {
        const problem = row.number === null || row.mac === null ? "unchained" : "unordered";
        this.#problem(problem, { link: row.number ?? 0, ...placeOf(row) });
        row = (await rows.next()).value;
      } else {
        this.#missing(row ?? null, link ?? null);
      }
    }
    this.#finish();
    return this.#report;
  }

  #checkBase(base: ChainBase): void {
    if (isSameText(sealBase(this.#key, base).seal, base.seal)) return;
    this.#problem("changed", { link: base.number, session_id: null, from_gseq: null, to_gseq: base.gseq });
  }

  #batch(row: ChainedRow): void {
    const fits = this.#fits(linkOfRow(row), row);
    if (fits) {
      this.#report.batches++;
      this.#report.events += row.count;
    } else this.#problem("changed", { link: this.#place.number, ...placeOf(row) });
    this.#gseq = this.#lastGseq = Math.max(this.#lastGseq, row.last_gseq);
    this.#misstated(this.#tables.take(row, fits));
  }

  #misstated(found: Misstated | null): void {
    if (found !== null) this.#problem("misstated", found);
  }

  #bare(link: BareLink): void {
    const { kind, session_id, gseq } = link;
    const where = { link: link.number, session_id, from_gseq: gseq, to_gseq: gseq };
    if (!this.#fits(contentOf(link), link)) {
      this.#problem("changed", where);
    } else if (kind === "deleted") this.#erased.delete(session_id);
    if (kind === "deleted") return;
    this.#report.erased++;
    this.#gseq = this.#lastGseq = Math.max(this.#lastGseq, gseq);
    if (!this.#erased.has(session_id)) this.#erased.set(session_id, { link: link.number, gseq });
  }

  /** Advances to a link; the next ones are checked against its own claims, so that one fault is one problem. */
  #fits(content: LinkContent, { number, mac }: { number: number | null; mac: string | null }): boolean {
    const previous = this.#place.mac;
    const right = nextPlace(this.#key, this.#place, content);
    this.#place = { number: number ?? right.number, mac: mac ?? right.mac };
    this.#meet(this.#place);
    return previous === "" || (mac !== null && isSameText(right.mac, mac));
  }

  /** The next number is missing: the check resumes at the next row's or link's own place, without vouching for it. */
  #missing(row: ChainedRow | null, link: BareLink | null): void {
    const next = Math.min(row?.number ?? Infinity, link?.number ?? Infinity);
    const after = row !== null && row.number === next ? { ...linkOfRow(row), mac: row.mac } : afterOf(link);
    const lost = this.#lostUpTo(next - 1, after);
    if (lost !== null) {
      // Its seal vouches for the next link where no code does.
      this.#place = { number: next - 1, mac: lost.mac ?? "" };
      this.#meet(this.#place);
      return;
    }
    const to = row !== null && row.number === next ? row.first_gseq : link?.gseq ?? null;
    const where = { session_id: null, from_gseq: this.#gseq, to_gseq: to };
    const first = this.#place.number + 1;
    this.#problem("missing", { link: first, links: next - first, ...where });
    // The code before is missing, so the next link cannot be told from a changed one.
    this.#place = { number: next - 1, mac: "" };
  }

  /** A signed loss from the next link up to one; null where there is none. */
  #lostUpTo(last: number, next: Parameters<typeof sealLoss>[2]): LostLinks | null {
    const first = this.#place.number + 1;
    const lost = this.#table.lostFrom(first);
    if (lost?.last !== last || !isSameText(sealLoss(this.#key, lost, next), lost.seal)) return null;
    this.#report.lost += last - first + 1;
    return lost;
  }

  #meet({ number, mac }: ChainPlace): void {
    const { head } = this.#options;
    if (head === undefined || number !== head.number) return;
    if (isSameText(mac, head.mac)) this.#report.kept_head = "found";
  }

  #finish(): void {
    this.#finishChain();
    const { lost, problems } = this.#report;
    const whole = lost === 0 && problems.every(({ problem }) => problem === "misstated" || problem === "foreign");
    for (const found of this.#tables.finish({ whole })) this.#misstated(found);
    this.#isDamaged = !this.#report.ok;
    this.#finishHead();
  }

  #finishChain(): void {
    const nowhere = { session_id: null, from_gseq: this.#lastGseq, to_gseq: null };
    for (const [session_id, { link, gseq }] of this.#erased) {
      this.#problem("erased", { link, session_id, from_gseq: gseq, to_gseq: gseq });
    }
    const atEnd = this.#place.number < this.#head.number ? this.#lostUpTo(this.#head.number, null) : null;
    if (atEnd?.mac != null) this.#place = { number: atEnd.last, mac: atEnd.mac };
    const { number, mac } = this.#place;
    // After a loss the newest numbers may be those of lost events.
    const isAtEnd = this.#report.lost > 0 || this.#head.last_gseq === this.#lastGseq;
    if (number !== this.#head.number || mac !== this.#head.mac || !isAtEnd) {
      this.#problem("truncated", { ...nowhere, link: number, to_gseq: this.#head.last_gseq });
    }
  }

  #finishHead(): void {
    const { head } = this.#options;
    const { number } = this.#place;
    if (head === undefined || this.#report.kept_head === "found") return;
    const nowhere = { session_id: null, from_gseq: this.#lastGseq, to_gseq: null };
    if (head.number < this.#report.base) this.#report.kept_head = "folded";
    else this.#problem(head.number > number ? "truncated" : "rewritten", { ...nowhere, link: head.number });
  }

  #problem(
    problem: ChainProblem["problem"],
    where: Omit<ChainProblem, "problem" | "links"> & { links?: number },
  ): void {
    this.#report.ok = false;
    if (this.#report.problems.length < maxProblems) this.#report.problems.push({ problem, links: 1, ...where });
    else this.#report.more_problems++;
  }

  async *#pages<T>(
    read: (after: number) => T[],
    keyOf: (item: T) => number,
    from: number,
  ): AsyncGenerator<T, undefined, void> {
    for (let after = from;;) {
      const page = read(after);
      const last = page.at(-1);
      if (last === undefined) return undefined;
      yield* page;
      after = keyOf(last);
      this.#options.onProgress?.(this.#place.number - this.#report.base, this.#head.number - this.#report.base);
      await nextTurn();
    }
  }
}

function afterOf(link: BareLink | null): Parameters<typeof sealLoss>[2] {
  return link === null ? null : { ...contentOf(link), mac: link.mac };
}

function placeOf(
  { session_id, first_gseq, last_gseq }: ChainedRow,
): Pick<ChainProblem, "session_id" | "from_gseq" | "to_gseq"> {
  return { session_id, from_gseq: first_gseq, to_gseq: last_gseq };
}
