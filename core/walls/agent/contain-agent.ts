import { access, mkdir, realpath, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findBubblewrap, ownNamespaces, ownProc } from "../../ground/runtime/os-walls/bubblewrap.ts";
import type { Command, ProbedWall } from "../../ground/runtime/os-walls/os-wall.ts";
import { type ViewMount, withoutNeedless } from "./mounts.ts";
import type { AgentView, Bound } from "./program-view.ts";
import { containBySeatbelt, probeSeatbelt } from "./seatbelt.ts";
import { randomId, sha256Hex } from "../../ground/runtime/hash.ts";
import { isInside } from "../../ground/runtime/paths.ts";
import { platform } from "../../ground/runtime/platform.ts";
import { pathsOfMachine, realEntries, RealPaths } from "./real-paths.ts";
import { openUnixSockets, socketsOutside } from "./unix-sockets.ts";
import { probeOsWalls } from "../../ground/runtime/os-walls/probe.ts";
import { findProgram } from "../../ground/runtime/os-walls/try-program.ts";
import { systemCallFilter } from "./system-call-filter.ts";
import { uncontainedError } from "./uncontained-error.ts";

/** Sockets of the system's services, which could act for the program; files there are needed to resolve names. */
const serviceFolder = "/run";
const shownOfServices = ["/run/systemd/resolve", "/run/current-system", "/run/wrappers"];

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
 * @throws {BulkheadError} `unavailable` where the system supports no such containment
 */
export async function containAgent(command: Command, view: AgentView): Promise<Command> {
  const [wall, found] = await Promise.all([probeAgentWall(), findBubblewrap()]);
  if (wall.active && platform === "darwin") return await containBySeatbelt(command, view);
  const what = `Cannot run "${command.file}" contained`;
  if (!wall.active) throw uncontainedError(what, wall);
  if ("reason" in found) throw uncontainedError(what, found);
  const { network, filterFolder } = view;
  const [mounted, filter] = await Promise.all([
    mounts(view),
    filterFolder === undefined ? null : filterIn(filterFolder),
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
  const draft = `${file}.${randomId()}`;
  await writeFile(draft, bytes, { mode: 0o600 });
  await rename(draft, file);
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

/** Kernel file systems. A writable parent folder, such as `/`, would otherwise expose the machine's own. */
const ofKernel: readonly ViewMount[] = [
  { at: "/dev", args: ["--dev", "/dev"] },
  { at: "/proc", args: [...ownProc] },
];

/** Mounts each folder before those below it, which it would otherwise cover. */
async function mounts(view: AgentView): Promise<ViewMount[]> {
  const { writable, tmp, hidden, shown, sealed = [], held = [], bound = [] } = view;
  const covered = [...writable, ...hidden, ...bound.map(({ at }) => at), serviceFolder, "/tmp"];
  const own = new RealPaths();
  const lookerAt = (path: string) => writable.some((folder) => isInside(folder, path)) ? own : pathsOfMachine();
  const realOf = (path: string) => lookerAt(path).of(path);
  const there = (paths: readonly string[]) => paths.filter((path) => !lookerAt(path).isMissing(path));
  const hideAll = (paths: readonly string[]) => Promise.all(there(paths).map((path) => hide(path, lookerAt)));
  const hideSockets = async () => hideAll(await socketsOutside(covered, await openUnixSockets()));
  const [sockets, behind, seen, entries, bounds] = await Promise.all([
    view.filterFolder === undefined ? [] : hideSockets(),
    hideAll([...hidden, serviceFolder]),
    Promise.all(there(["/sys", ...shown, ...shownOfServices]).map((path) => show(path, realOf))),
    showEntries(sealed, realOf),
    Promise.all(bound.map(bind)),
  ]);
  const writing = [...writable, ...held, tmp].map((at) => ({ at, args: ["--bind", at, at] }));
  const ownTmp = { at: "/tmp", args: ["--bind", tmp, "/tmp"], isNew: true };
  // Of two at one place the later one counts.
  const wanted = [...ofKernel, ...behind, ...sockets, ...seen, ownTmp, ...writing, ...entries, ...bounds]
    .filter((mount) => mount !== null).sort((a, b) => a.at.length - b.at.length);
  const needed = withoutNeedless(wanted);
  // Hidden places become read-only last: until then the places below them are made in them.
  const emptied = needed.filter(({ args }) => args[0] === "--tmpfs").map(({ at }) => ({
    at,
    args: ["--remount-ro", at],
  }));
  return [...needed, ...emptied];
}

type RealOf = (path: string) => Promise<string | null>;

async function hide(path: string, lookerAt: (path: string) => RealPaths): Promise<ViewMount | null> {
  const at = await lookerAt(path).of(path);
  if (at === null) return null;
  const folder = await lookerAt(at).isFolder(at);
  if (folder === null) return null;
  return { at, args: folder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at], hides: true };
}

/** Under its real path, and under its own name where that is a link: a private folder may lie over the link. */
async function show(path: string, realOf: RealOf): Promise<ViewMount | null> {
  const at = await realOf(path);
  if (at === null) return null;
  return shownAt(at, join(await realOf(dirname(path)) ?? dirname(path), basename(path)));
}

/** As {@link show}, by one look at each of the folders that the places stand in. */
async function showEntries(paths: readonly string[], realOf: RealOf): Promise<ViewMount[]> {
  const shown = [...new Set(paths.map(dirname))].map(async (folder) => {
    const names = paths.filter((path) => dirname(path) === folder).map((path) => basename(path));
    const real = await realOf(folder);
    if (real === null) return [];
    const found = await realEntries(real, names);
    return found.flatMap((at, index) => at === null ? [] : [shownAt(at, join(real, names[index]!))]);
  });
  return (await Promise.all(shown)).flat();
}

function shownAt(at: string, named: string): ViewMount {
  const own = ["--ro-bind", at, at];
  return { at, args: named === at ? own : [...own, "--ro-bind", at, named] };
}

async function bind({ from, at, isNew = false }: Bound): Promise<ViewMount | null> {
  const real = await realpath(from).catch(() => null);
  return real === null ? null : { at, args: ["--bind", real, at], isNew };
}
