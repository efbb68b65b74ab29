import { codeOf } from "../../errors/write-fault.ts";
import { lstat, readFile, realpath, rm, rmdir, unlink } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { isInside } from "./paths.ts";
import { findProgram } from "../os-walls/try-program.ts";
import { listFolder, pinFolder } from "./pinned-folder.ts";
import { runPlainProgram } from "../processes/plain-program.ts";
import { platform } from "../engine/platform.ts";
import { Turns } from "../engine/turns.ts";

/**
 * Removes a folder that a program could write to, with all that is in it: also folders that it has closed to its own
 * user, as some package managers do, and chains of them longer than a path may be. Follows no link, also not one that
 * takes a folder's place meanwhile, and leaves a folder alone in which something is mounted.
 * @throws {BulkheadError} `io_error` when something is left
 */
export async function removeTree(folder: string): Promise<void> {
  if (!(await removeSmallTree(folder))) await byProgram(folder);
}

/** Entries of a small tree, which is removed by calls of this process. */
const few = 32;

/** Removes a tree of few entries; false where it has more, or something of it could not be removed. */
export async function removeSmallTree(folder: string): Promise<boolean> {
  const problem = await problemOf(folder);
  if (problem === "ENOTDIR") return await isUnlinked(folder);
  return await isFolderRemoved(folder, { problem, room: { left: few } });
}

/** Most are empty. The error names a folder, so that no link is followed, and one on which something is mounted. */
function problemOf(folder: string): Promise<unknown> {
  return rmdir(folder).then(() => null, codeOf);
}

interface Room {
  left: number;
}

async function isFolderRemoved(
  folder: string,
  { problem, room }: { problem: unknown; room: Room },
): Promise<boolean> {
  if (problem === null || problem === "ENOENT") return true;
  return problem === "ENOTEMPTY" && await isEmptied(folder, room) && await problemOf(folder) === null;
}

async function refuseMounts(folder: string): Promise<void> {
  const mounted = await mountedInside(await realpath(folder).catch(() => folder));
  if (mounted === null) return;
  throw new BulkheadError("io_error", `Cannot remove "${folder}": something is mounted at "${mounted}".`, {
    hint: `Unmount it: umount "${mounted}".`,
  });
}

/** Its entries are reached through the open folder: a path could lead elsewhere by the next call. */
async function isEmptied(path: string, room: Room): Promise<boolean> {
  const folder = await pinFolder(path).catch(() => null);
  if (folder === null) return false;
  try {
    if (folder.base === path) return false;
    const names = await listFolder(folder, room.left);
    if (names === null) return false;
    room.left -= names.length;
    const removed = names.map((name) => isEntryRemoved(`${folder.base}/${name}`, room));
    return !(await Promise.all(removed)).includes(false);
  } finally {
    await folder.close();
  }
}

async function isEntryRemoved(path: string, room: Room): Promise<boolean> {
  return await isUnlinked(path) || await isFolderRemoved(path, { problem: await problemOf(path), room });
}

function isUnlinked(path: string): Promise<boolean> {
  return unlink(path).then(() => true, () => false);
}

/** Programs of this process that remove large trees, at once. */
const removing = new Turns(4);

const sameDisk: Readonly<Record<string, readonly string[]>> = { linux: ["--one-file-system"], darwin: ["-x"] };

/** Removes a tree by programs of the system, which spares this thread, from folder to folder by open files. */
async function byProgram(folder: string): Promise<void> {
  await refuseMounts(folder);
  if (await findProgram("rm") === null) return await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  await removing.take("rm", async () => {
    await run("rm", ["-rf", ...sameDisk[platform] ?? [], "--", folder]);
    if (await isGone(folder)) return;
    await run("chmod", ["-R", "u+rwx", "--", folder]);
    // Not every `rm` knows the flag; that nothing is mounted there has been seen.
    const problem = await run("rm", ["-rf", "--", folder]);
    if (!(await isGone(folder))) throw new BulkheadError("io_error", `Cannot remove "${folder}": ${problem}.`);
  });
}

/** Runs one of them; returns the first line of its problem. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const { exit_code, stderr } = await runPlainProgram(await findProgram(program) ?? program, args);
  return stderr.split("\n", 1)[0] || `${program} ended with ${exit_code}`;
}

/** Whether nothing is there; false where that cannot be seen. */
export function isGone(path: string): Promise<boolean> {
  return lstat(path).then(() => false, (error: unknown) => codeOf(error) === "ENOENT");
}

/** A mounted place at or below a folder; null where there is none, or no list of mounts. Real absolute path. */
async function mountedInside(folder: string): Promise<string | null> {
  const table = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const points = table.split("\n").flatMap((row) => row.split(" ")[4]?.replaceAll(/\\([0-7]{3})/g, unescape) ?? []);
  return points.find((point) => isInside(folder, point)) ?? null;
}

function unescape(_: string, octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}
