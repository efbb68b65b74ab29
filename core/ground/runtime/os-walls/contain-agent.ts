import { lstat, realpath } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { findBubblewrap, ownNamespaces, ownProc } from "./bubblewrap.ts";
import type { Command } from "./os-wall.ts";
import { probeOsWalls } from "./probe.ts";

/** View of the file system for a contained program. All paths are absolute; one below another overrides it. */
export interface AgentView {
  /** Folders that it may write. It may read everything that is neither here nor hidden. */
  writable: readonly string[];
  /** Folder mounted as its `/tmp`. */
  tmp: string;
  /** Folders that appear empty and files that it cannot open; missing ones are left out. */
  hidden: readonly string[];
  /** Files and folders that it may read inside a hidden one; missing ones are left out. */
  shown: readonly string[];
  network: boolean;
}

interface Mount {
  at: string;
  args: string[];
}

/** Sockets of the system's services, which could act for the program; files there are needed to resolve names. */
const serviceFolder = "/run";
const shownOfServices = ["/run/systemd/resolve", "/run/current-system", "/run/wrappers"];

/**
 * Puts a program of a session into its own namespaces. Its process tree ends with its first process, and that one with
 * the host.
 * @throws {BulkheadError} `unavailable` where the system supports no such containment
 */
export async function containAgent(command: Command, view: AgentView): Promise<Command> {
  const wall = (await probeOsWalls()).get("bubblewrap");
  const found = await findBubblewrap();
  if (!wall?.active || "reason" in found) {
    const { reason, remedy } = wall?.active === false ? wall : { reason: "It is gone.", remedy: "Install bubblewrap." };
    throw new BulkheadError("unavailable", `Cannot run "${command.file}" contained: ${reason}`, { hint: remedy });
  }
  const network = view.network ? [] : ["--unshare-net"];
  const args = [
    ...ownNamespaces,
    ...network,
    "--ro-bind",
    "/",
    "/",
    ...(await mounts(view)).flatMap((mount) => mount.args),
    "--chdir",
    command.cwd,
    "--",
    command.file,
    ...command.args,
  ];
  return { ...command, file: found.file, args };
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
const ofKernel: readonly Mount[] = [
  { at: "/dev", args: ["--dev", "/dev"] },
  { at: "/sys", args: ["--ro-bind-try", "/sys", "/sys"] },
  { at: "/proc", args: [...ownProc] },
];

/** Mounts each folder before those below it, which it would otherwise cover. */
async function mounts({ writable, tmp, hidden, shown }: AgentView): Promise<Mount[]> {
  const all = await Promise.all([
    ...[...hidden, serviceFolder].map(hide),
    ...[...shown, ...shownOfServices].map(show),
    Promise.resolve({ at: "/tmp", args: ["--bind", tmp, "/tmp"] }),
    ...[...writable, tmp].map((at) => Promise.resolve({ at, args: ["--bind", at, at] })),
  ]);
  const there = [...ofKernel, ...all].filter((mount) => mount !== null).sort((a, b) => a.at.length - b.at.length);
  // Hidden places become read-only last: until then the places below them are made in them.
  const sealed = there.filter(({ args }) => args[0] === "--tmpfs").map(({ at }) => ({
    at,
    args: ["--remount-ro", at],
  }));
  return [...there, ...sealed];
}

async function hide(path: string): Promise<Mount | null> {
  const at = await realpath(path).catch(() => null);
  if (at === null) return null;
  const folder = await lstat(at).then((info) => info.isDirectory(), () => null);
  if (folder === null) return null;
  return { at, args: folder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at] };
}

async function show(path: string): Promise<Mount | null> {
  const at = await realpath(path).catch(() => null);
  return at === null ? null : { at, args: ["--ro-bind", at, at] };
}
