import { lstat, realpath } from "node:fs/promises";
import { personHomes } from "../files/homes.ts";
import { keyPaths } from "../places/key-paths.ts";
import { userId } from "../files/pinned-folder.ts";
import { execPathForOthers } from "../engine/platform.ts";
import type { Command, Confinement, MissingWall, OsWall, ProbedWall, WrappedCommand } from "./os-wall.ts";
import { refusedBubblewrap } from "./refused-bubblewrap.ts";
import { findProgram, tryProgram } from "./try-program.ts";

/** Namespaces and an almost empty file system of its own by `bwrap` (bubblewrap, bwrap(1)). */
export const bubblewrap: OsWall = {
  name: "bubblewrap",
  does: "It sees no file but its own code, no network, and no process but its own.",
  lacks:
    "Without it, agents do not start. Code that broke out of a plugin's compartment can connect, look names up and signal your processes. A program that daemonises outlives its session.",
  probe,
};

/** HOME of a warden: an empty folder, wherever its code lies. It can write nothing that it sees, so it cannot fill memory. */
const homeInside = "/empty";

/** Namespaces that every contained process gets, besides those of its own kind. */
export const ownNamespaces: readonly string[] = [
  "--unshare-user-try",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--die-with-parent",
  "--cap-drop",
  "ALL",
];

/** A private `/proc` that nothing can write to: root in a container could have the kernel run `core_pattern`. */
export const ownProc: readonly string[] = ["--proc", "/proc", "--remount-ro", "/proc"];

/** Finds bwrap, without trying it. */
export async function findBubblewrap(): Promise<{ file: string } | MissingWall> {
  const file = await findProgram("bwrap");
  return file === null
    ? {
      active: false,
      reason: "bwrap was not found.",
      remedy: "Install bubblewrap: apt-get install bubblewrap, or as this system installs it.",
    }
    : { file };
}

async function probe(): Promise<ProbedWall> {
  const found = await findBubblewrap();
  if ("reason" in found) return found;
  const { file } = found;
  const runtime = await runtimeFiles();
  const trial = await tryProgram(file, [...viewArguments([...runtime]), execPathForOthers, "--version"]);
  if (!trial.works) return await refusedBubblewrap(trial.why, file);
  return {
    active: true,
    wrap: async (command, confinement) => {
      // Looked up for each program: a place that is gone would keep it from starting, and a new one would be shown.
      const hidden = confinement.readable === "all" ? await hiddenPlaces() : [];
      return wrap(command, confinement, { file, runtime, hidden });
    },
  };
}

function wrap(
  command: Command,
  { readable }: Confinement,
  { file, runtime, hidden }: { file: string; runtime: readonly string[]; hidden: readonly string[] },
): WrappedCommand {
  // The launcher made the process the leader of a session, so it has no terminal to lose. In a separate session, a
  // signal to its group would not reach the processes inside.
  return {
    command: {
      file,
      args: [
        ...(readable === "all" ? diskArguments(hidden) : viewArguments([...runtime, ...readable])),
        command.file,
        ...command.args,
      ],
      env: readable === "all" ? command.env : { ...command.env, HOME: homeInside },
      cwd: command.cwd,
    },
  };
}

function viewArguments(readable: readonly string[]): string[] {
  return [
    ...ownNamespaces,
    "--unshare-net",
    ...ownProc,
    "--dev",
    "/dev",
    "--dir",
    homeInside,
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    "--remount-ro",
    "/dev",
    "--remount-ro",
    "/",
    "--chdir",
    homeInside,
    "--",
  ];
}

/** View of a bundler: the disk, read-only, without keys and sockets, no network, and no process but its own. */
function diskArguments(hidden: readonly string[]): string[] {
  return [
    ...diskNamespaces(),
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--ro-bind",
    "/proc/sys",
    "/proc/sys",
    "--dev",
    "/dev",
    ...hidden,
    "--chdir",
    "/",
    "--",
  ];
}

/**
 * In a user namespace root could not read the files of other users, as it can outside: a host that runs as root needs
 * no such namespace, and keeps that one capability.
 */
function diskNamespaces(): string[] {
  if (userId() !== 0) return [...ownNamespaces];
  return [...ownNamespaces.filter((flag) => flag !== "--unshare-user-try"), "--cap-add", "CAP_DAC_READ_SEARCH"];
}

/** Hides folders and files that hold people's keys or the sockets of the system's services. */
async function hiddenPlaces(): Promise<string[]> {
  const places = ["/run", ...await keyPaths((await personHomes()).all)];
  const found = await Promise.all(places.map(async (place): Promise<string[]> => {
    const at = await realpath(place).catch(() => null);
    const info = at === null ? null : await lstat(at).catch(() => null);
    if (at === null || info === null) return [];
    return info.isDirectory() ? ["--tmpfs", at, "--remount-ro", at] : ["--ro-bind", "/dev/null", at];
  }));
  return found.flat();
}

/** The running runtime's executable and the libraries that it is linked with. */
async function runtimeFiles(): Promise<string[]> {
  const real = await realpath(execPathForOthers).catch(() => execPathForOthers);
  const ldd = await findProgram("ldd");
  const listed = ldd === null ? null : await tryProgram(ldd, [real]);
  const libraries = listed?.works ? parseLdd(listed.stdout) : ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
  // The executable exists only under this path: see its definition.
  return [...new Set([execPathForOthers, ...libraries])];
}

/** Absolute paths in what `ldd` prints: `libm.so.6 => /lib/libm.so.6 (0x…)`, and the loader as a path alone. */
export function parseLdd(text: string): string[] {
  return text.split("\n").flatMap((row) => /(?:^|=>)\s*(\/\S+)/.exec(row)?.[1] ?? []);
}
