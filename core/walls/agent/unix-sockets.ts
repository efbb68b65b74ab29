import { lstat, readFile } from "node:fs/promises";
import { isAbsolute, resolve } from "../../ground/platform/files/paths.ts";
import { shareCalls } from "../../ground/platform/engine/share-calls.ts";

/** Sockets to look at. */
const most = 2048;

/** A unix socket that a program of this machine has opened under a name that is no abstract one. */
export interface UnixSocket {
  /** As the program gave it: one that is relative lies below a folder that the system does not tell. */
  name: string;
  /** Number of the socket itself: another one of that name has another. */
  id: string;
  /** Whether others may connect to it, or send to it. */
  isOpen: boolean;
}

const accepts = 0x10000;
const connected = new Set(["0001", "0005"]);

/** A folder that may only be read does not keep a program from connecting to a socket in it. Some may be gone. */
export const unixSockets: () => Promise<readonly UnixSocket[]> = shareCalls(async () => {
  const text = await readFile("/proc/net/unix", "utf8").catch(() => "");
  // Num RefCount Protocol Flags Type St Inode Path (proc_net(5)); a path that begins with @ is no file.
  return text.split("\n").flatMap((row) => {
    const [, flags = "", type = "", id = "", name = ""] =
      /^\S+: \S+ \S+ (\S+) +(\S+) +\S+ +(\d+) ([^@].*)$/.exec(row) ?? [];
    return name === "" ? [] : [{ name, id, isOpen: !connected.has(type) || (parseInt(flags, 16) & accepts) !== 0 }];
  });
});

/** Finds where sockets stand; those with a relative name, in one of the folders in which their programs may have been started. */
export function pathsOf(sockets: readonly UnixSocket[], folders: readonly string[]): string[] {
  const paths = sockets.flatMap(({ name }) =>
    isAbsolute(name) ? [name] : folders.map((folder) => resolve(folder, name))
  );
  return [...new Set(paths)];
}

/** Finds those of some paths at which there is a socket. */
export async function socketsAmong(paths: readonly string[]): Promise<string[]> {
  const there = await Promise.all(
    paths.slice(0, most).map(async (path) => {
      const isSocket = await lstat(path).then((info) => info.isSocket(), () => false);
      return isSocket ? [path] : [];
    }),
  );
  return there.flat();
}
