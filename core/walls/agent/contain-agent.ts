import { swapFile } from "../../ground/platform/files/replace-file.ts";
import { access, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findBubblewrap, ownNamespaces } from "../../ground/platform/os-walls/bubblewrap.ts";
import type { Command, ProbedWall } from "../../ground/platform/os-walls/os-wall.ts";
import type { AgentView } from "./program-view.ts";
import { containBySeatbelt, probeSeatbelt } from "./seatbelt.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { viewMounts } from "./view-mounts.ts";
import { probeOsWalls } from "../../ground/platform/os-walls/probe.ts";
import { findProgram } from "../../ground/platform/os-walls/try-program.ts";
import { systemCallFilter } from "./system-call-filter.ts";
import { uncontainedError } from "./uncontained-error.ts";

let seatbelt: Promise<ProbedWall> | null = null;

/** Whether this machine can contain the programs of agents; tried once per process. */
export async function probeAgentWall(): Promise<ProbedWall> {
  if (platform === "darwin") return await (seatbelt ??= probeSeatbelt());
  if (await findProgram("nsenter") === null) {
    return { active: false, reason: "nsenter was not found.", remedy: "Install util-linux." };
  }
  return (await probeOsWalls()).get("bubblewrap")!;
}

/**
 * Puts a program of a session into its own namespaces. Its process tree ends with its first process, and that one with
 * the host.
 * @throws {BulkheadError} `unavailable` where the system supports no such containment; `io_error` where its view cannot be
 * made as it must be
 */
export async function containAgent(command: Command, view: AgentView): Promise<Command> {
  const [wall, found] = await Promise.all([probeAgentWall(), findBubblewrap()]);
  if (wall.active && platform === "darwin") return await containBySeatbelt(command, view);
  const what = `Cannot run "${command.file}" contained`;
  if (!wall.active) throw uncontainedError(what, wall);
  if ("reason" in found) throw uncontainedError(what, found);
  const { network, filterFolder, shm } = view;
  const [mounted, filter] = await Promise.all([
    viewMounts(view),
    filterFolder === undefined ? null : filterIn(filterFolder),
    shm === undefined ? null : mkdir(shm, { recursive: true, mode: 0o700 }),
  ]);
  const args = [
    ...ownNamespaces,
    ...(network === "none" ? ["--unshare-net"] : []),
    "--chdir",
    command.cwd,
    "--",
    command.file,
    ...command.args,
  ];
  const shown = mounted.flatMap((mount) => mount.args);
  const contained = { ...command, file: found.file, args, view: shown, ...(filter === null ? {} : { filter }) };
  return typeof network === "object" ? network.enter(contained) : contained;
}

/** The filter of system calls, which bwrap takes as an open file; null on an architecture that has none. */
async function filterIn(folder: string): Promise<string | null> {
  if (callFilter === null) return null;
  const filter = join(folder, callFilter.name);
  if (!(await access(filter).then(() => true, () => false))) await writeFilter(filter, callFilter.bytes);
  return filter;
}

const callFilter = nameFilter(systemCallFilter());

/** Names a filter for its content, so that a file of that name always holds it. */
function nameFilter(bytes: Uint8Array | null): { name: string; bytes: Uint8Array } | null {
  return bytes === null ? null : { name: `calls-${sha256Hex(bytes).slice(0, 16)}`, bytes };
}

/** A session that starts meanwhile finds the whole filter or none. */
async function writeFilter(file: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await swapFile(file, bytes);
}

/**
 * Gives a program its own PID namespace and changes nothing else: every process that it starts ends with it, even one
 * that leaves its session, its process group and its environment. Returns the command unchanged where the system does
 * not give us such a namespace.
 */
export async function ownProcesses(command: Command): Promise<Command & { contained: boolean }> {
  const wall = (await probeOsWalls()).get("bubblewrap");
  const found = await findBubblewrap();
  if (!wall?.active || "reason" in found) return { ...command, contained: false };
  const args = [
    "--unshare-pid",
    "--die-with-parent",
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--chdir",
    command.cwd,
  ];
  return { ...command, file: found.file, args: [...args, "--", command.file, ...command.args], contained: true };
}
