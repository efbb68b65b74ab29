import { lstat, readFile } from "node:fs/promises";
import { isInside } from "../../ground/runtime/paths.ts";
import { shareCalls } from "../../ground/runtime/share-calls.ts";

/** Sockets to look at outside of folders that are hidden as a whole. */
const most = 2048;

/**
 * Paths of the unix sockets that are open on this machine; some may be gone. A folder that may only be read does not keep
 * a program from connecting to a socket in it.
 */
export const openUnixSockets: () => Promise<readonly string[]> = shareCalls(async () => {
  const text = await readFile("/proc/net/unix", "utf8").catch(() => "");
  // Num RefCount Protocol Flags Type St Inode Path (proc_net(5)); a path that begins with @ is no file.
  return [...new Set(text.split("\n").flatMap((row) => /^\S+: (?:\S+ +){6}(\/.*)$/.exec(row)?.[1] ?? []))];
});

/** Those of some paths at which there is a socket, and which lie in none of the folders. */
export async function socketsOutside(folders: readonly string[], paths: readonly string[]): Promise<string[]> {
  const outside = paths.filter((path) => !folders.some((folder) => isInside(folder, path)));
  const there = await Promise.all(
    outside.slice(0, most).map(async (path) => {
      const isSocket = await lstat(path).then((info) => info.isSocket(), () => false);
      return isSocket ? [path] : [];
    }),
  );
  return there.flat();
}
