import { diskOf, type DiskSpace, diskSpace } from "../state/disk-space.ts";
import { findProgram } from "../os-walls/try-program.ts";
import { lookOften } from "../engine/background-timer.ts";
import { runPlainProgram } from "./plain-program.ts";
import { platform } from "../engine/platform.ts";

/** Programs whose use of disks is bounded. */
interface DiskWatch {
  /** Folders that only they fill. */
  folders: readonly string[];
  /** Existing places on each file system that they may fill. */
  places: readonly string[];
  /** The most that their folders may hold. */
  most: DiskUse;
  /** Bytes that stay free on each file system: less on a small one. */
  floorBytes: number;
  /** Bytes that they have written so far, wherever to; 0 where the system does not tell. */
  written(): Promise<number>;
  /** Called for more. */
  onOver(over: DiskOverrun): void;
}

/** A bound that programs have passed. */
export type DiskOverrun =
  | { bound: "bytes"; used: number; most: number }
  | { bound: "files"; used: number; most: number }
  /** They filled the disk of `place`. */
  | { bound: "floor"; place: string; free: number; floor: number; grown: number };

/** A watch, with what was last seen of it. */
interface Seen {
  watch: DiskWatch;
  disks: ReadonlySet<string>;
  use: DiskUse;
  written: number;
  isOver: boolean;
}

/** A file system, with what was last seen of it. */
interface Disk {
  place: string;
  /** When its folders were last walked. */
  walked: { at: number; tookMs: number; free: number; files: number };
}

/** Removals by other programs hide growth: folders are walked this often in any case. */
const walkEveryMs = 30_000;
const manyFiles = 5000;

/** Smallest growth that ends programs on a disk that is almost full. Bytes. */
const smallGrowth = 4 * 1024 * 1024;

const watched = new Set<Seen>();
const disks = new Map<string, Disk>();
const looks = lookOften(watched, async () => {
  for (const [id, disk] of [...disks]) await lookAt(id, disk);
});

/**
 * Bounds what programs put on disks, in one look for all of them twice a second. The free space of a file system costs
 * one call; only once it has shrunk are folders walked, by another process.
 * @returns ends it
 */
export function watchDisks(watch: DiskWatch): () => void {
  let isOver = false;
  let seen: Seen | null = null;
  void Promise.all(watch.places.map(diskOf)).then((found) => {
    if (isOver) return;
    found.forEach((disk, at) => disk !== null && !disks.has(disk) && addDisk(disk, watch.places[at]!));
    const on = new Set(found.filter((disk) => disk !== null));
    watched.add(seen = { watch, disks: on, use: { bytes: 0, files: 0 }, written: 0, isOver: false });
    looks.start();
  });
  return () => {
    isOver = true;
    if (seen !== null) watched.delete(seen);
    if (watched.size > 0) return;
    disks.clear();
    looks.stop();
  };
}

function addDisk(disk: string, place: string): void {
  disks.set(disk, { place, walked: { at: 0, tookMs: 0, free: Infinity, files: 0 } });
}

async function lookAt(id: string, disk: Disk): Promise<void> {
  const on = [...watched].filter((seen) => seen.disks.has(id) && !seen.isOver);
  const space = await placeOf(disk, on);
  if (space === null) return;
  const floor = floorOf(space, on);
  const isShort = space.free < floor;
  if (!isShort && !mustWalk(disk, { space, on, floor })) return;
  const grown = await walk(disk, { space, on });
  if (isShort) endLargest({ disk, space, floor, grown });
}

/** A place may have gone with its session; any other on the disk will do. */
async function placeOf(disk: Disk, on: readonly Seen[]): Promise<DiskSpace | null> {
  for (const place of [disk.place, ...on.flatMap(({ watch }) => watch.places)]) {
    const space = await diskSpace(place);
    if (space !== null) return space;
  }
  return null;
}

/** At least a hundredth, and at most a tenth of the disk. */
function floorOf({ total }: DiskSpace, on: readonly Seen[]): number {
  const wanted = Math.max(0, ...on.map(({ watch }) => watch.floorBytes));
  return wanted === 0 ? 0 : Math.min(Math.max(wanted, total / 100), total / 10);
}

function mustWalk(
  { walked }: Disk,
  { space, on, floor }: { space: DiskSpace; on: readonly Seen[]; floor: number },
): boolean {
  const sinceMs = performance.now() - walked.at;
  // A walk of many files may take a while; it takes a fifth of the time at most.
  if (sinceMs < walked.tookMs * 5) return false;
  const step = Math.min(...on.map(({ watch }) => watch.most.bytes / 16), Math.max(floor, smallGrowth));
  if (walked.free === Infinity) walked.free = space.free;
  if (walked.files === 0) walked.files = space.files;
  const files = Math.min(manyFiles, ...on.map(({ watch }) => watch.most.files / 4));
  const shrunk = walked.free - space.free >= step || space.files - walked.files >= files;
  // Room that was given back is no longer theirs to use unseen.
  walked.free = Math.max(walked.free, space.free);
  return on.length > 0 && (shrunk || sinceMs >= walkEveryMs);
}

/** Measures all that fill a disk, and ends those that hold too much; returns by how much each of the others has grown. */
async function walk(
  disk: Disk,
  { space, on }: { space: DiskSpace; on: readonly Seen[] },
): Promise<Map<Seen, { grown: number; all: number }>> {
  const at = performance.now();
  const [uses, written] = await Promise.all([
    diskUse(on.flatMap(({ watch }) => watch.folders)),
    Promise.all(on.map(({ watch }) => watch.written())),
  ]);
  disk.walked = { at, tookMs: performance.now() - at, free: space.free, files: space.files };
  const growth = new Map<Seen, { grown: number; all: number }>();
  on.forEach((seen, index) => {
    const { folders, most } = seen.watch;
    const use = sumOf(folders.flatMap((folder) => uses.get(folder) ?? []));
    // What they wrote to their own folders is in both.
    const bytes = Math.max(use.bytes - seen.use.bytes, written[index]! - seen.written);
    growth.set(seen, { grown: bytes, all: Math.max(use.bytes, written[index]!) });
    Object.assign(seen, { use, written: written[index] });
    if (use.bytes > most.bytes) end(seen, { bound: "bytes", used: use.bytes, most: most.bytes });
    else if (use.files > most.files) end(seen, { bound: "files", used: use.files, most: most.files });
  });
  return growth;
}

/**
 * On a disk that is almost full the programs that grew most are ended. One that is full lets nothing grow: there it is those
 * that wrote most of all.
 */
function endLargest({ disk, space, floor, grown }: {
  disk: Disk;
  space: DiskSpace;
  floor: number;
  grown: ReadonlyMap<Seen, { grown: number; all: number }>;
}): void {
  const isFull = space.free < floor / 8;
  const [by, least] = isFull && ![...grown.values()].some(({ grown }) => grown >= leastOf(floor))
    ? ["all", floor / 2] as const
    : ["grown", leastOf(floor)] as const;
  const [largest] = [...grown].filter(([{ isOver }]) => !isOver).sort(([, a], [, b]) => b[by] - a[by]);
  if (largest === undefined || largest[1][by] < least) return;
  const over = { bound: "floor" as const, place: disk.place, free: space.free, floor, grown: largest[1][by] };
  end(largest[0], over);
}

function leastOf(floor: number): number {
  return Math.min(smallGrowth, floor / 4);
}

function end(seen: Seen, over: DiskOverrun): void {
  seen.isOver = true;
  if (watched.has(seen)) seen.watch.onOver(over);
}

function sumOf(uses: readonly DiskUse[]): DiskUse {
  return uses.reduce((sum, { bytes, files }) => ({ bytes: sum.bytes + bytes, files: sum.files + files }), {
    bytes: 0,
    files: 0,
  });
}

interface DiskUse {
  bytes: number;
  /** Files and folders; 0 where the system's `du` does not count them. */
  files: number;
}

/** Folders of one call: its arguments have a most. */
const atOnce = 200;

/** Measures folders by a program of the system. A file with several names counts once. Leaves out missing folders. */
async function diskUse(folders: readonly string[]): Promise<ReadonlyMap<string, DiskUse>> {
  const use = new Map<string, DiskUse>();
  const du = folders.length === 0 ? null : await findProgram("du");
  if (du === null) return use;
  for (let from = 0; from < folders.length; from += atOnce) {
    const some = folders.slice(from, from + atOnce);
    const [blocks, files] = await Promise.all([
      sums(du, ["-k"], some),
      platform === "linux" ? sums(du, ["--inodes"], some) : new Map<string, number>(),
    ]);
    for (const [folder, kilobytes] of blocks) {
      use.set(folder, { bytes: kilobytes * 1024, files: files.get(folder) ?? 0 });
    }
  }
  return use;
}

async function sums(du: string, unit: readonly string[], folders: readonly string[]): Promise<Map<string, number>> {
  // A path may hold the end of a line, where rows can end with something else.
  const [ends, end] = platform === "linux" ? [["-0"], "\0"] : [[], "\n"];
  const { stdout } = await runPlainProgram(du, ["-s", "-x", ...unit, ...ends, "--", ...folders]);
  return new Map(
    stdout.split(end).flatMap((row): [string, number][] => {
      const tab = row.indexOf("\t");
      return tab < 0 ? [] : [[row.slice(tab + 1), Number(row.slice(0, tab))]];
    }),
  );
}
