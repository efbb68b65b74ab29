import process from "node:process";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { socketsInside } from "./join-sockets.ts";
import { type OpenedPorts, openPorts } from "../../ground/platform/processes/launcher.ts";
import { commandChain } from "../../ground/platform/os-walls/command-chain.ts";
import { findBubblewrap } from "../../ground/platform/os-walls/bubblewrap.ts";
import type { Command } from "../../ground/platform/os-walls/os-wall.ts";
import { refusedBubblewrap } from "../../ground/platform/os-walls/refused-bubblewrap.ts";
import { findProgram, tryProgram } from "../../ground/platform/os-walls/try-program.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";
import { pinFolder } from "../../ground/platform/files/pinned-folder.ts";
import { execPathForOthers, runtimeName } from "../../ground/platform/engine/platform.ts";
import { networkArguments } from "../../ground/platform/processes/own-command.ts";
import { uncontainedError } from "./uncontained-error.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** A network for programs, with nothing but a loopback: clients of its ports reach this host and no one else. */
export interface OwnNetwork {
  /** Hands over every client of the ports; call it before a program enters. */
  onClient(take: (client: Socket, port: number) => void): void;
  /** The command, to be started in the network. */
  enter(command: Command): Command;
  /** Takes no more clients. The network ends with its last process. */
  close(): Promise<void>;
}

interface OwnNetworkOptions {
  /** Ports of its loopback. */
  ports: readonly number[];
  /** Folder for sockets, made where the runtime needs them. */
  folder: string;
  /** Whether a program that starts faster than the runtime may open it; default: yes. */
  light?: boolean;
}

// As in `pool/spare-container.ts`: this file may be the build's or the source.
const built = import.meta.url.endsWith(".ts") ? "../../../dist/walls/" : "../../../walls/";
/** Bundled script that opens the ports. */
const networkFile = fileURLToPath(new URL(`${built}network.js`, import.meta.url));

const noNetwork = "Cannot run the agent's programs contained, on a network of their own";

/** Time to open a network on a machine under load. Milliseconds. */
const openMs = 20_000;

/**
 * Opens a network. What keeps it are open files of this process alone, so that nothing of it outlives the host.
 * @throws {BulkheadError} `unavailable` where the system supports no such network
 */
export async function openOwnNetwork(options: OwnNetworkOptions): Promise<OwnNetwork> {
  const [bubblewrap, nsenter] = await Promise.all([findBubblewrap(), findProgram("nsenter")]);
  if ("reason" in bubblewrap) throw uncontainedError(noNetwork, bubblewrap);
  if (nsenter === null) {
    throw uncontainedError(noNetwork, { reason: "nsenter was not found.", remedy: "Install util-linux." });
  }
  const isLight = options.light !== false && !lightFails;
  const opened = isLight ? await openLight(options.ports).catch(() => null) : null;
  if (opened !== null) return opened;
  try {
    const network = await openByRuntime(bubblewrap.file, options);
    lightFails ||= isLight;
    return network;
  } catch (error) {
    if (error instanceof BulkheadError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    if (why.startsWith("bwrap: ")) throw uncontainedError(noNetwork, await refusedBubblewrap(why, bubblewrap.file));
    const remedy = "Allow the host to make user namespaces.";
    throw uncontainedError(noNetwork, { reason: `The system did not open it: ${why}.`, remedy });
  }
}

/** Set once a program was started in a network: the others are made in the same way. */
let canEnter = false;

/** Set once the launcher is missing or failed: the runtime itself opens every network from then on. */
let lightFails = false;

/** Opens a network by the launcher, which takes 2 ms; null where there is none. A runtime takes 70. */
async function openLight(ports: readonly number[]): Promise<OwnNetwork | null> {
  const opened = await openPorts(ports);
  if (opened === null) return null;
  return await filled((network) => network.take(opened)).finally(() => opened.release());
}

async function openByRuntime(bubblewrap: string, options: OwnNetworkOptions): Promise<OwnNetwork> {
  const lowered = lowerUserLimits(await ownSpace("user"));
  const command = [...lowered, execPathForOthers, ...networkArguments, networkFile];
  return await filled((network) => network.open([bubblewrap, ...holding], command, options));
}

/** A network once an act has opened it; closed where that fails. */
async function filled(open: (network: LinuxNetwork) => Promise<void>): Promise<OwnNetwork> {
  const network = new LinuxNetwork();
  try {
    await open(network);
    return network;
  } catch (error) {
    await network.close();
    throw error;
  }
}

const ownSpaces = new Map<string, string>();

/** Names the namespace of this process, which stays the same. */
async function ownSpace(kind: "user" | "net"): Promise<string> {
  const space = ownSpaces.get(kind) ?? await readlink(`/proc/self/ns/${kind}`);
  ownSpaces.set(kind, space);
  return space;
}

class LinuxNetwork implements OwnNetwork {
  readonly #servers = new Map<number, Server>();
  readonly #spaces: FileHandle[] = [];
  readonly #entry: NonNullable<Command["enters"]> = {};
  #opener: ChildProcess | null = null;
  #sockets: string | null = null;

  /** Takes over what the launcher opened. */
  async take({ pid, servers }: OpenedPorts): Promise<void> {
    for (const [port, server] of servers) this.#add(port, server);
    await this.#hold(pid);
  }

  async open(
    [bubblewrap = "", ...flags]: readonly string[],
    command: readonly string[],
    { ports, folder }: OwnNetworkOptions,
  ): Promise<void> {
    const handsOver = runtimeName === "node";
    if (!handsOver) await this.#listen(ports, folder);
    const opener = this.#opener = spawn(
      bubblewrap,
      [...flags, ...(handsOver ? [] : ["--bind", folder, socketsInside]), "--", ...command, ...ports.map(String)],
      { stdio: ["pipe", "pipe", "pipe", ...(handsOver ? ["ipc" as const] : [])], env: { DENO_NO_UPDATE_CHECK: "1" } },
    );
    const pid = await opened(opener, (port, server) => {
      this.#add(port, server);
      return this.#servers.size === ports.length;
    });
    for (const server of this.#servers.values()) server.unref();
    await this.#hold(pid);
    if (handsOver) opener.stdin?.end();
    else unref(opener);
  }

  onClient(take: (client: Socket, port: number) => void): void {
    for (const [port, server] of this.#servers) server.on("connection", (client: Socket) => take(client, port));
  }

  enter(command: Command): Command {
    return { ...command, enters: this.#entry };
  }

  async close(): Promise<void> {
    this.#opener?.stdin?.end();
    for (const server of this.#servers.values()) server.close();
    this.#servers.clear();
    await Promise.all(this.#spaces.splice(0).map((space) => space.close()));
    if (this.#sockets !== null) await removeTree(this.#sockets);
  }

  #add(port: number, server: Server): void {
    server.unref();
    // The option is not sent along.
    this.#servers.set(port, Object.assign(server, { allowHalfOpen: true }));
  }

  async #listen(ports: readonly number[], folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#sockets = folder;
    // A socket's path has at most 107 bytes, which a state folder may exceed.
    const pinned = await pinFolder(folder);
    try {
      for (const port of ports) {
        const server = createServer({ allowHalfOpen: true }).listen(`${pinned.base}/${port}`);
        await once(server, "listening");
        this.#servers.set(port, server);
      }
    } finally {
      await pinned.close();
    }
  }

  /** Holds the namespaces of a process open, and sees that a program can be started in them. */
  async #hold(pid: number): Promise<void> {
    for (const kind of ["user", "net"] as const) {
      const path = `/proc/${pid}/ns/${kind}`;
      const own = await readlink(path) === await ownSpace(kind);
      // Root has its rights without a user namespace, which not every container allows.
      if (own && kind === "user") continue;
      if (own) throw new Error("it has none of its own");
      const space = await open(path);
      this.#spaces.push(space);
      this.#entry[kind] = `/proc/${process.pid}/fd/${space.fd}`;
    }
    if (canEnter) return;
    const { file, args } = await commandChain(this.enter({ file: "/bin/sh", args: ["-c", ":"], env: {}, cwd: "/" }));
    const trial = await tryProgram(file, args);
    if (!trial.works) throw new Error(trial.why);
    canEnter = true;
  }
}

/**
 * Namespaces that the opener keeps until this process has them. Its code is ours: it needs no other walls. For devices of
 * its own bwrap would enter a second user namespace unless it is root, and who enters that one may not enter the network.
 */
const holding: readonly string[] = [
  "--unshare-user-try",
  "--unshare-net",
  "--die-with-parent",
  "--cap-drop",
  "ALL",
  // The opener lowers limits of the new user namespace, which are files of `/proc`.
  "--cap-add",
  "CAP_SYS_RESOURCE",
  "--ro-bind",
  "/",
  "/",
  "--dev-bind",
  "/proc",
  "/proc",
  "--tmpfs",
  "/dev",
  ...["/dev/null", "/dev/zero", "/dev/urandom"].flatMap((device) => ["--dev-bind", device, device]),
];

/** The pid of an opener, once its ports are open and those that it hands over are here. */
function opened(opener: ChildProcess, take: (port: number, server: Server) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let pid = NaN;
    let problem = "";
    let complete = runtimeName !== "node";
    const timer = setTimeout(() => fail(new Error(`it took longer than ${openMs} ms`)), openMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    const check = () => {
      if (!complete || Number.isNaN(pid)) return;
      clearTimeout(timer);
      resolve(pid);
    };
    opener.on("message", (port, server) => {
      complete = take(Number(port), server as Server);
      check();
    });
    opener.stdout?.once("data", (line: Uint8Array) => {
      pid = Number(String(line));
      check();
    });
    opener.stderr?.on("data", (piece: Uint8Array) => problem = `${problem}${piece}`.slice(0, 500));
    opener.once("error", fail);
    opener.once("close", () => fail(new Error(problem.trim().replaceAll(/\s+/g, " ") || "its opener ended early")));
  });
}

/** Lets this process end while the opener lives: it ends then too. */
function unref(opener: ChildProcess): void {
  opener.unref();
  for (const stream of [opener.stdin, opener.stdout, opener.stderr]) (stream as Socket | null)?.unref?.();
}

/**
 * Lowers what one user may take of the kernel's inotify inside a user namespace of a session's own (user_namespaces(7),
 * `/proc/sys/user`): else one session takes all, and no program of the person may watch files any more. A quarter of the
 * machine's instances, 32 at most, and half of its watches.
 *
 * Arguments of a shell that becomes the command after them. In the namespace of the machine it changes nothing.
 * @param machine the user namespace of this process, as its link reads
 */
function lowerUserLimits(machine: string): string[] {
  return ["/bin/sh", "-c", lower, "sh", machine];
}

const lower = `own=$(readlink /proc/self/ns/user)
if [ -n "$own" ] && [ "$own" != "$1" ]; then
  {
    # Read by cat: a shell reads single bytes, and these files give no more than one of them.
    instances=$(($(cat /proc/sys/fs/inotify/max_user_instances) / 4))
    [ "$instances" -le 32 ] || instances=32
    [ "$instances" -lt 1 ] || echo "$instances" > /proc/sys/user/max_inotify_instances
    watches=$(($(cat /proc/sys/fs/inotify/max_user_watches) / 2))
    [ "$watches" -lt 1 ] || echo "$watches" > /proc/sys/user/max_inotify_watches
  } 2> /dev/null
fi
shift
exec "$@"`;
