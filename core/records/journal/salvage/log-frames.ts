import { Breath } from "../../../ground/platform/engine/breath.ts";
import { FileBlocks, viewOf } from "./file-blocks.ts";

/** Pages in a write-ahead log. */
export interface LogFrames {
  /** Bytes of a page; null where there is no log. */
  pageSize: number | null;
  /** Place of the newest committed content of each page. */
  pages: Map<number, number>;
  /** Frames that cannot be read, with readable ones of the same log behind them: SQLite stops at the first of them. */
  damaged: number;
}

/** Bytes of a page where nothing tells them. */
export const defaultPageSize = 4096;

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The magic number less its last bit, which tells the byte order of the sums. */
const magic = 0x377f0682;

type Sums = readonly [number, number];

/**
 * Reads a write-ahead log, also behind a frame that is damaged: each frame vouches for itself by the sums before it.
 * @param usualPageSize size of a page where the log's header is damaged
 */
export async function readLog(
  log: FileBlocks,
  { usualPageSize, breath }: { usualPageSize: number; breath: Breath },
): Promise<LogFrames> {
  const head = await headOf(log, usualPageSize);
  const frames: LogFrames = { pageSize: head?.pageSize ?? null, pages: new Map(), damaged: 0 };
  if (head === null) return frames;
  const frameBytes = frameHeaderBytes + head.pageSize;
  let before = head.sums;
  let pending = new Map<number, number>();
  let unread = 0;
  for (let at = headerBytes;; at += frameBytes) {
    const frame = await log.read(at, frameBytes);
    if (frame === null) break;
    const view = viewOf(frame);
    const told = sumsAt(view, 16);
    const isWhole = saltAt(view, 8) === head.salt && isSame(told, sumsOfFrame(frame, { before, ...head }));
    before = told;
    await breath.take();
    if (!isWhole) {
      unread++;
      continue;
    }
    // Frames of an earlier use of the log may follow its end; they have another salt.
    frames.damaged += unread;
    unread = 0;
    pending.set(view.getUint32(0), at + frameHeaderBytes);
    const isCommit = view.getUint32(4) !== 0;
    if (!isCommit) continue;
    for (const [page, place] of pending) frames.pages.set(page, place);
    pending = new Map();
  }
  if (!head.isWhole) frames.damaged = Math.max(1, frames.damaged);
  return frames;
}

interface LogHead {
  pageSize: number;
  isLittle: boolean;
  salt: string;
  sums: Sums;
  isWhole: boolean;
}

/** Null for a log without a frame. */
async function headOf(log: FileBlocks, usualPageSize: number): Promise<LogHead | null> {
  const header = await log.read(0, headerBytes);
  if (header === null || log.size < headerBytes + frameHeaderBytes) return null;
  const view = viewOf(header);
  const pageSize = view.getUint32(8);
  const isLittle = (view.getUint32(0) & 1) === 0;
  const sums = sumsOf(header.subarray(0, 24), { from: [0, 0], isLittle });
  const isWhole = view.getUint32(0) - (isLittle ? 0 : 1) === magic && isPageSize(pageSize) &&
    isSame(sums, sumsAt(view, 24));
  if (isWhole) return { pageSize, isLittle, salt: saltAt(view, 16), sums, isWhole };
  // The second frame has the salt as well, and lies in another sector of the disk than the header.
  const second = await log.read(headerBytes + frameHeaderBytes + usualPageSize, frameHeaderBytes);
  const salt = second === null ? "" : saltAt(viewOf(second), 8);
  return { pageSize: usualPageSize, isLittle: true, salt, sums, isWhole };
}

function sumsOfFrame(frame: Uint8Array, { before, isLittle }: { before: Sums; isLittle: boolean }): Sums {
  const from = sumsOf(frame.subarray(0, 8), { from: before, isLittle });
  return sumsOf(frame.subarray(frameHeaderBytes), { from, isLittle });
}

/** Counts the frames of a journal's log that SQLite would pass over without a word; 0 for a last half frame. */
export async function damagedFrames(logFile: string): Promise<number> {
  const log = await FileBlocks.open(logFile);
  try {
    return (await readLog(log, { usualPageSize: defaultPageSize, breath: new Breath() })).damaged;
  } finally {
    await log.close();
  }
}

/** True for a size that a page of SQLite can have. */
export function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65536 && (size & (size - 1)) === 0;
}

function saltAt(view: DataView, at: number): string {
  return `${view.getUint32(at)}-${view.getUint32(at + 4)}`;
}

function sumsAt(view: DataView, at: number): Sums {
  return [view.getUint32(at), view.getUint32(at + 4)];
}

function isSame(one: Sums, other: Sums): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

function sumsOf(bytes: Uint8Array, { from, isLittle }: { from: Sums; isLittle: boolean }): Sums {
  const view = viewOf(bytes);
  let [one, two] = from;
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + view.getUint32(at, isLittle) + two) >>> 0;
    two = (two + view.getUint32(at + 4, isLittle) + one) >>> 0;
  }
  return [one, two];
}
