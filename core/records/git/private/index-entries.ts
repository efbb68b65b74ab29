import { asBuffer } from "../../../ground/platform/files/as-buffer.ts";

type Bytes = ReturnType<typeof asBuffer>;

/** One path of an index at one stage, without the times and sizes of files. */
export interface IndexEntry {
  /** Six octal digits. */
  mode: string;
  id: string;
  /** 0, or 1 to 3 for a conflict. */
  stage: number;
  /** Whether it is left out of the checkout, or marked as to be added. */
  isSkipped: boolean;
  isIntended: boolean;
}

/** Entries of an index, by stage and path: `0 src/main.c`; each byte of a path is one character (latin1). */
type IndexEntries = Map<string, IndexEntry>;

/** Paths that an index may have. */
const mostEntries = 1_000_000;

/**
 * Reads an index as data (gitformat-index(5), versions 2 to 4).
 * @returns null for an index in two files, and for bytes that are no index
 */
export function readIndexEntries(bytes: Uint8Array, objectFormat: string): IndexEntries | null {
  const idBytes = objectFormat === "sha256" ? 32 : 20;
  try {
    return entriesOf(asBuffer(bytes), idBytes);
  } catch {
    return null;
  }
}

function entriesOf(file: Bytes, idBytes: number): IndexEntries | null {
  const entries: IndexEntries = new Map();
  const isWhole = eachEntry(file, idBytes, ({ at, more, flags, path }) => {
    const stage = (flags >> 12) & 3;
    const name = path ?? file.toString("latin1", at.path, at.end);
    entries.set(`${stage} ${name}`, entryAt(file, { start: at.start, idBytes, stage, more }));
  });
  return isWhole ? entries : null;
}

function entryAt(
  file: Bytes,
  { start, idBytes, stage, more }: { start: number; idBytes: number; stage: number; more: number },
): IndexEntry {
  return {
    mode: file.readUInt32BE(start + 24).toString(8).padStart(6, "0"),
    id: file.toString("hex", start + 40, start + 40 + idBytes),
    stage,
    isSkipped: (more & 0x4000) !== 0,
    isIntended: (more & 0x2000) !== 0,
  };
}

/** A plain file of an index, with its size on the disk when git last looked at it. */
interface SizedFile {
  path: Uint8Array;
  id: string;
  size: number;
}

/** Reads the plain files of an index that git has looked at; null as for {@link readIndexEntries}. */
export function readSizedFiles(bytes: Uint8Array, objectFormat: string): SizedFile[] | null {
  const idBytes = objectFormat === "sha256" ? 32 : 20;
  const file = asBuffer(bytes);
  const sized: SizedFile[] = [];
  try {
    const isWhole = eachEntry(file, idBytes, ({ at: { start, path: begin, end }, more, path }) => {
      const size = file.readUInt32BE(start + 36);
      if ((more & 0x4000) !== 0 || size === 0 || file.readUInt32BE(start + 24) >>> 12 !== 8) return;
      sized.push({
        path: path === null ? file.subarray(begin, end) : Uint8Array.from(path, (one) => one.charCodeAt(0)),
        id: file.toString("hex", start + 40, start + 40 + idBytes),
        size,
      });
    });
    return isWhole ? sized : null;
  } catch {
    return null;
  }
}

/** One entry as its bytes have it. */
interface RawEntry {
  at: { start: number; path: number; end: number };
  flags: number;
  more: number;
  /** Set where the bytes do not hold all of it. */
  path: string | null;
}

/** Hands over all entries in their order; false for bytes that are no index, or not all of one. */
function eachEntry(file: Bytes, idBytes: number, take: (entry: RawEntry) => void): boolean {
  if (file.toString("latin1", 0, 4) !== "DIRC") return false;
  const version = file.readUInt32BE(4);
  const count = file.readUInt32BE(8);
  if (version < 2 || version > 4 || count > mostEntries) return false;
  let at = 12;
  let previous = "";
  for (let number = 0; number < count; number++) {
    const start = at;
    at += 40 + idBytes;
    const flags = file.readUInt16BE(at);
    at += 2;
    const more = (flags & 0x4000) === 0 ? 0 : file.readUInt16BE(at);
    if ((flags & 0x4000) !== 0) at += 2;
    let cut = 0;
    if (version === 4) [cut, at] = stripped(file, at);
    // A short path has its length here, and most have.
    const length = flags & 0xfff;
    const end = version !== 4 && length < 0xfff && file[at + length] === 0 ? at + length : file.indexOf(0, at);
    if (end === -1 || cut > previous.length) return false;
    const path = version === 4 ? previous.slice(0, previous.length - cut) + file.toString("latin1", at, end) : null;
    if (path !== null) previous = path;
    take({ at: { start, path: at, end }, flags, more, path });
    at = version === 4 ? end + 1 : start + Math.ceil((end + 1 - start) / 8) * 8;
  }
  return isWhole(file, at, idBytes);
}

/**
 * Reads only the entries of two indexes that differ. Entries that both have, in the same order, are compared as bytes: of
 * ten thousand files a session changes a few.
 * @returns null where one of them cannot be read
 */
export function readDifferences(
  before: Uint8Array,
  after: Uint8Array,
  objectFormat: string,
): { before: IndexEntries; after: IndexEntries } | null {
  const idBytes = objectFormat === "sha256" ? 32 : 20;
  const [a, b] = [asBuffer(before), asBuffer(after)];
  try {
    const [old, now] = [rowsOf(a, idBytes), rowsOf(b, idBytes)];
    if (old === null || now === null) return null;
    const differing: { before: IndexEntries; after: IndexEntries } = { before: new Map(), after: new Map() };
    const put = (entries: IndexEntries, row: Row) => {
      entries.set(row.key, entryAt(row.file, { ...row, idBytes }));
    };
    let [i, j] = [0, 0];
    while (i < old.length || j < now.length) {
      const [one, other] = [old[i], now[j]];
      const order = one === undefined ? 1 : other === undefined ? -1 : compareRows(one, other);
      if (order === 0 && !isSameRow(one!, other!, idBytes)) {
        put(differing.before, one!);
        put(differing.after, other!);
      } else if (order < 0) put(differing.before, one!);
      else if (order > 0) put(differing.after, other!);
      if (order <= 0) i++;
      if (order >= 0) j++;
    }
    return differing;
  } catch {
    return null;
  }
}

/** An entry, with its stage and path as one text. */
interface Row {
  file: Bytes;
  start: number;
  stage: number;
  more: number;
  path: string;
  key: string;
}

function rowsOf(file: Bytes, idBytes: number): Row[] | null {
  const rows: Row[] = [];
  const isWhole = eachEntry(file, idBytes, ({ at, flags, more, path }) => {
    const stage = (flags >> 12) & 3;
    const name = path ?? file.toString("latin1", at.path, at.end);
    rows.push({ file, start: at.start, stage, more, path: name, key: `${stage} ${name}` });
  });
  return isWhole ? rows : null;
}

/** Indexes are in the order of bytes of paths, then of stages. */
function compareRows(a: Row, b: Row): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.stage - b.stage;
}

function isSameRow(a: Row, b: Row, idBytes: number): boolean {
  if (a.more !== b.more || a.file.readUInt32BE(a.start + 24) !== b.file.readUInt32BE(b.start + 24)) return false;
  const idOf = ({ file, start }: Row) => file.subarray(start + 40, start + 40 + idBytes);
  return idOf(a).equals(idOf(b));
}

/** The number of bytes that a path of version 4 takes off the one before it, and where the number ends. */
function stripped(file: Bytes, start: number): [cut: number, at: number] {
  let at = start;
  let byte = file.readUInt8(at++);
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    byte = file.readUInt8(at++);
    value = ((value + 1) << 7) | (byte & 0x7f);
    if (value > 0xffff) throw new RangeError("No path is so long.");
  }
  return [value, at];
}

/** Whether no extension says that entries are elsewhere, or mean folders. */
function isWhole(file: Bytes, start: number, idBytes: number): boolean {
  for (let at = start; at + 8 <= file.length - idBytes;) {
    const name = file.toString("latin1", at, at + 4);
    // A small first letter: who does not know the extension must not read the index.
    if (name === "link" || name === "sdir") return false;
    at += 8 + file.readUInt32BE(at + 4);
  }
  return true;
}

/** Whether an index may be only a part of one, or have folders instead of files: a quick look at its bytes. */
export function mayBeOdd(bytes: Uint8Array): boolean {
  return ["link", "sdir"].some((name) => hasExtension(asBuffer(bytes), name));
}

/** A path may have the name in it: what follows an extension's is its size, which fits into the file. */
function hasExtension(file: Bytes, name: string): boolean {
  for (let at = file.indexOf(name); at !== -1; at = file.indexOf(name, at + 1)) {
    if (at + 8 <= file.length && at + 8 + file.readUInt32BE(at + 4) <= file.length) return true;
  }
  return false;
}

/** Whether an index may have pointers to other repositories: a quick look at its bytes. */
export function mayHavePointers(bytes: Uint8Array): boolean {
  return asBuffer(bytes).includes(asBuffer(pointerMode));
}

const pointerMode = new Uint8Array([0, 0, 0xe0, 0]);

/** Mode of an entry that points to another repository. */
export const pointer = "160000";

/** Paths of an index's pointers to other repositories. */
export function pointersOf(entries: ReadonlyMap<string, Pick<IndexEntry, "mode">>): string[] {
  return [...new Set([...entries].filter(([, { mode }]) => mode === pointer).map(([key]) => pathOf(key)))];
}

/** The path of a key of an index's entries, whose bytes are one character each. */
export function pathOf(key: string): string {
  const bytes = Uint8Array.from(key.slice(2), (one) => one.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
