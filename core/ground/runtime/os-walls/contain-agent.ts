import { lstat, realpath } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { findBubblewrap, ownNamespaces, ownProc } from "./bubblewrap.ts";
import type { Command } from "./os-wall.ts";
import { probeOsWalls } from "./probe.ts";

/** What a contained program sees of the file system. All paths are absolute; one below another overrides it. */
export interface AgentView {
  /** Folders that it may write. Everything that is neither here nor hidden it may read. */
  writable: readonly string[];
  /** Folder that it has for `/tmp`. */
  tmp: string;
  /** Folders that it finds empty and files that it cannot open; those that are not there are left out. */
  hidden: readonly string[];
  /** Files and folders that it may read although they lie in a hidden one; those that are not there are left out. */
  shown: readonly string[];
  network: boolean;
}

interface Mount {
  at: string;
  args: string[];
}

/** Sockets of the system's services, through which they could be made to act; names are resolved by files there. */
const serviceFolder = "/run";
const shownOfServices = ["/run/systemd/resolve", "/run/current-system", "/run/wrappers"];

/**
 * Puts a program that a session starts behind namespaces of its own. Its process tree ends with the first process of
 * it, and that one with the host.
 * @throws {BulkheadError} `unavailable` where the system has nothing for that
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
 * Gives a program a PID namespace of its own, and takes nothing else from it: whatever it starts ends with it, also what
 * leaves its session, its process group and its environment behind. The command as it is where the system has no such
 * namespace for us.
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

/** What the kernel offers. A writable folder around them, such as `/`, would else bring the machine's own. */
const ofKernel: readonly Mount[] = [
  { at: "/dev", args: ["--dev", "/dev"] },
  { at: "/sys", args: ["--ro-bind-try", "/sys", "/sys"] },
  { at: "/proc", args: [...ownProc] },
];

/** Each folder before those below it, which else it would cover. */
async function mounts({ writable, tmp, hidden, shown }: AgentView): Promise<Mount[]> {
  const all = await Promise.all([
    ...[...hidden, serviceFolder].map(hide),
    ...[...shown, ...shownOfServices].map(show),
    Promise.resolve({ at: "/tmp", args: ["--bind", tmp, "/tmp"] }),
    ...[...writable, tmp].map((at) => Promise.resolve({ at, args: ["--bind", at, at] })),
  ]);
  const there = [...ofKernel, ...all].filter((mount) => mount !== null).sort((a, b) => a.at.length - b.at.length);
  // What is hidden is made read-only last: until then the places below it are made in it.
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
