import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";

/** Bytes of a page. */
export const pageBytes = 4096;

/** A page of each kind, of a closed journal. */
export interface PageKinds {
  schema: number;
  leaf: number;
  interior: number;
  overflow: number;
  index: number;
  freelist: number;
  sessions: number;
  state: number;
  links: number;
}

/** Finds a page of each kind. */
export async function findPages(file: string): Promise<PageKinds> {
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  const rows = database.prepare("SELECT name, rootpage FROM sqlite_schema").all() as {
    name: string;
    rootpage: number;
  }[];
  database.close();
  const root = Object.fromEntries(rows.map(({ name, rootpage }) => [name, rootpage]));
  const bytes = readFileSync(file);
  const at = (page: number, offset: number) => bytes.readUInt32BE((page - 1) * pageBytes + offset);
  const childOf = (page: number) => at(page, bytes.readUInt16BE((page - 1) * pageBytes + 12));
  const leafBelow = (page: number): number =>
    [2, 5].includes(bytes[(page - 1) * pageBytes]!) ? leafBelow(childOf(page)) : page;
  const leaf = leafBelow(root["batch"]!);
  // Only the pages that follow a row hold nothing but its text.
  const isFilled = (page: number) =>
    bytes.subarray((page - 1) * pageBytes + 4, page * pageBytes).every((byte) => byte === 0x79);
  const overflow = [...Array(bytes.length / pageBytes).keys()].find((page) => page > 0 && isFilled(page));
  return {
    schema: 1,
    leaf,
    interior: root["batch"]!,
    overflow: overflow ?? 0,
    index: leafBelow(root["batch_by_session"]!),
    freelist: at(1, 32),
    sessions: leafBelow(root["session"]!),
    state: root["state"]!,
    links: leafBelow(root["link"]!),
  };
}

/** Numbers of a seed, from 0 to 1. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Writes over a page, with random bytes or with zeros. */
export function damagePage(file: string, page: number, fill: (() => number) | 0, bytes: number = pageBytes): void {
  const handle = openSync(file, "r+");
  const garbage = Uint8Array.from({ length: bytes }, () => fill === 0 ? 0 : Math.floor(fill() * 256));
  writeSync(handle, garbage, 0, bytes, (page - 1) * pageBytes);
  closeSync(handle);
}
