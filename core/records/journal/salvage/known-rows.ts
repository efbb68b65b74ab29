import { DamageError, undamaged } from "../damage.ts";
import type { BareLink, ChainedRow } from "../chain-table.ts";
import type { ChainBase, ChainPlace } from "../chain.ts";
import type { KeyRecord } from "../key-table.ts";
import type { CellValue, LeafRow } from "./leaf-cells.ts";

/** A row of the table of sessions, in the order of its columns. */
type SessionValues = (string | number | null)[];

/** A row of one of a journal's tables, told by its columns alone: the table of contents may be damaged. */
export type KnownRow =
  | { table: "batch"; row: ChainedRow }
  | { table: "session"; values: SessionValues }
  | { table: "link"; row: BareLink }
  | { table: "base"; row: ChainBase }
  | { table: "state"; row: ChainPlace & { last_gseq: number } }
  | { table: "idempotency"; number: number; row: KeyRecord }
  | { table: "lost_event"; session_id: string; from_seq: number; to_seq: number }
  | { table: "lost_link"; first: number; last: number };

/** Recognises a row; null for one of another table, and for one that is damaged. */
export function knownRow({ rowid, values }: LeafRow): KnownRow | null {
  if (values[0] !== null) return null;
  const shape = values.map((value) => value === null ? "-" : typeof value === "number" ? "n" : "t").join("");
  try {
    return readers.find(({ fits }) => fits.test(shape))?.read(rowid, values) ?? null;
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

const mac = /^[0-9a-f]{64}$/;

const readers: readonly { fits: RegExp; read(rowid: number, values: CellValue[]): KnownRow | null }[] = [
  { fits: /^-ntnnnt(?:nt|--)?$/, read: batchOf },
  { fits: /^-tnn[n-][t-]tt[t-]tt[t-]{5}(?:t(?:t[t-]n)?)?$/, read: sessionOf },
  { fits: /^-ttntt$/, read: linkOf },
  {
    fits: /^-ntnt$/,
    read: (_, [, number, code, gseq, seal]) => ({
      table: "base",
      row: { number: count(number), mac: code64(code), gseq: count(gseq), seal: code64(seal) },
    }),
  },
  {
    fits: /^-nnt$/,
    read: (_, [, last, number, code]) => ({
      table: "state",
      row: { last_gseq: count(last), number: count(number), mac: code64(code) },
    }),
  },
  {
    fits: /^-ttt$/,
    read: (number, [, name, digest, session]) => ({
      table: "idempotency",
      number,
      row: { name: text(name), digest: text(digest), session_id: text(session) },
    }),
  },
  {
    fits: /^-tnnt$/,
    read: (_, [, session, from, to]) => ({
      table: "lost_event",
      session_id: text(session),
      from_seq: count(from),
      to_seq: count(to),
    }),
  },
  { fits: /^-n[t-]t$/, read: (first, [, last]) => ({ table: "lost_link", first, last: count(last) }) },
];

function batchOf(last_gseq: number, values: CellValue[]): KnownRow {
  const [, first_gseq, session_id, first_seq, last_seq, rows, body, number, code] = values;
  return {
    table: "batch",
    row: {
      last_gseq,
      first_gseq: count(first_gseq),
      session_id: text(session_id),
      first_seq: count(first_seq),
      last_seq: count(last_seq),
      count: count(rows),
      body: text(body),
      number: number == null ? null : count(number),
      mac: code == null ? null : code64(code),
    },
  };
}

/** Place of the one column that is no session's own, after the first. */
const sortedAt = 15;

function sessionOf(first_gseq: number, [, ...rest]: CellValue[]): KnownRow | null {
  const [conversation = rest[0]!, follows = null, turn = 1] = rest.slice(sortedAt + 1);
  // The order of the sessions is made again.
  const values = [
    first_gseq,
    ...[...rest.slice(0, sortedAt), conversation, follows, turn].map((value) =>
      typeof value === "number" || value === null ? value : text(value)
    ),
  ];
  const [, , state, , , , , , , labels] = values;
  if (state !== 0 && state !== 1 && state !== 2) return null;
  const found: unknown = undamaged("a list of labels", () => JSON.parse(String(labels)) as unknown);
  return typeof found === "object" && found !== null ? { table: "session", values } : null;
}

function linkOf(number: number, [, kind, session, gseq, digest, code]: CellValue[]): KnownRow | null {
  const told = text(kind);
  if (told !== "erased" && told !== "deleted") return null;
  const content = { session_id: text(session), gseq: count(gseq), digest: code64(digest), mac: code64(code) };
  return { table: "link", row: { number, kind: told, ...content } };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws {DamageError} */
function text(value: CellValue | undefined): string {
  if (!(value instanceof Uint8Array)) throw new DamageError("a text is none");
  return undamaged("a text", () => utf8.decode(value));
}

function code64(value: CellValue | undefined): string {
  const found = text(value);
  if (!mac.test(found)) throw new DamageError("a code is none");
  return found;
}

function count(value: CellValue | undefined): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new DamageError("a number is none");
  return value as number;
}
