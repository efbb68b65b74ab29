import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { readRecord } from "../../ground/checks/read-record.ts";

/** Two trees of files, around the work on one turn. */
export interface StoredTurn {
  turn: number;
  before: string;
  /** Null where the look at its end failed: no rewind goes past it. */
  after: string | null;
  /** Whether the store holds all that the turn changed, before and after. */
  is_kept: boolean;
  /** Whether some of its paths are not, or not surely, the agent's; all, where the store does not say which. */
  has_open: boolean;
  head_before: string | null;
  head_after: string | null;
}

/** Files that go, or went, from one tree to another. */
export interface StoredSwap {
  /** Tree of the work tree before, and after. */
  now: string;
  want: string;
  to: number;
  /** The turns whose changes are in the files, before and after. */
  line_before: number[];
  line_after: number[];
  undo: boolean;
  /** When it was begun, and the numbers of files that it changes and leaves alone. */
  at?: string;
  files?: number;
  left?: number;
  /** The log of a session has it. */
  is_told?: boolean;
}

/** Everything that a store knows besides objects and its index. */
export interface StoreRecord {
  version: 1;
  workdir: string;
  top: string;
  object_format: string;
  /** The oldest first. */
  turns: StoredTurn[];
  /** Highest number of a turn that is no longer kept. */
  dropped: number;
  /** The turns whose changes are in the files. */
  line: number[];
  /** The turn under way; `at` is when it began, in milliseconds since 1970. */
  begun: { turn: number; before: string; head: string | null; at: number } | null;
  swap: StoredSwap | null;
  /** Swaps that were written, the newest last. */
  rewinds: StoredSwap[];
  /** A tree of which the store has all folders; null: of none. */
  owned: string | null;
}

const path = Type.String({ minLength: 1, maxLength: 16_384 });
const objectId = Type.String({ pattern: "^([0-9a-f]{40}|[0-9a-f]{64})$" });
const number = Type.Integer({ minimum: 0 });
const maybeId = Type.Union([objectId, Type.Null()]);
const line = Type.Array(number, { maxItems: 1000 });

const storedSwapSchema: SchemaOf<StoredSwap> = exactly<StoredSwap>()(
  Type.Object({
    now: objectId,
    want: objectId,
    to: number,
    line_before: line,
    line_after: line,
    undo: Type.Boolean(),
    at: Type.Optional(Type.String({ maxLength: 40 })),
    files: Type.Optional(number),
    left: Type.Optional(number),
    is_told: Type.Optional(Type.Boolean()),
  }, closed),
);

const storedTurnSchema: SchemaOf<StoredTurn> = exactly<StoredTurn>()(
  Type.Object({
    turn: number,
    before: objectId,
    after: maybeId,
    is_kept: Type.Boolean(),
    has_open: Type.Boolean(),
    head_before: maybeId,
    head_after: maybeId,
  }, closed),
);

const storeRecordSchema: SchemaOf<StoreRecord> = exactly<StoreRecord>()(
  Type.Object({
    version: Type.Literal(1),
    workdir: path,
    top: path,
    object_format: Type.String({ maxLength: 16 }),
    turns: Type.Array(storedTurnSchema, { maxItems: 1000 }),
    dropped: number,
    line,
    begun: Type.Union([
      Type.Object({ turn: number, before: objectId, head: maybeId, at: number }, closed),
      Type.Null(),
    ]),
    swap: Type.Union([storedSwapSchema, Type.Null()]),
    rewinds: Type.Array(storedSwapSchema, { maxItems: 100 }),
    owned: maybeId,
  }, closed),
);

/** Reads the record of a store; null for none, and for one that no version of this program wrote whole. */
export function readStoreRecord(folder: string): Promise<StoreRecord | null> {
  return readRecord(join(folder, recordName), storeRecordSchema);
}

/** Writes the record of a store: it is the old or the new one, whenever the host is killed. */
export async function writeStoreRecord(folder: string, record: StoreRecord): Promise<void> {
  await replaceFile(join(folder, recordName), JSON.stringify(record));
}

const recordName = "record.json";

/** The record of a store in which nothing is yet. */
export function newRecord(place: Pick<StoreRecord, "workdir" | "top" | "object_format">): StoreRecord {
  return { version: 1, ...place, turns: [], dropped: 0, line: [], begun: null, swap: null, rewinds: [], owned: null };
}
