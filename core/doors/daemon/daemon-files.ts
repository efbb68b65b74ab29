import { sha256Hex } from "../../ground/runtime/hash.ts";
import { mayOpenSockets } from "../../ground/runtime/own-command.ts";
import { isAbsolute, join } from "../../ground/runtime/paths.ts";
import { hostEnv } from "../../ground/runtime/platform.ts";

/** Absolute paths of a daemon's own files. */
export interface DaemonFiles {
  /** Held by the daemon of this state folder while it runs. */
  lock: string;
  /** Its record of itself: see `DaemonRecord`. */
  record: string;
  log: string;
  /** Places for the unix socket, the best first; none where this process may not open one. */
  sockets: string[];
}

/** A socket's address holds 104 bytes on macOS and 108 on Linux, the last of them empty. */
const socketPathBytes = 103;

/**
 * The files of the daemon of a state folder. The socket stands in the folder that the system clears at the end of a
 * login (`XDG_RUNTIME_DIR`) where there is one, else beside the state; nowhere where its path would be too long.
 * @param stateDir real absolute path
 */
export function daemonFiles(
  stateDir: string,
  env: (name: string) => string | undefined = hostEnv,
): DaemonFiles {
  return {
    lock: join(stateDir, "daemon.lock"),
    record: join(stateDir, "daemon.json"),
    log: join(stateDir, "daemon.log"),
    sockets: mayOpenSockets() ? socketPlaces(stateDir, env).filter(isShortEnough) : [],
  };
}

function isShortEnough(path: string): boolean {
  return new TextEncoder().encode(path).length <= socketPathBytes;
}

function socketPlaces(stateDir: string, env: (name: string) => string | undefined): string[] {
  const runtimeDir = env("XDG_RUNTIME_DIR");
  const beside = join(stateDir, "daemon.sock");
  if (!runtimeDir || !isAbsolute(runtimeDir)) return [beside];
  // Each state folder has a daemon of its own, and the runtime folder is one.
  return [join(runtimeDir, "bulkhead", `${sha256Hex(stateDir).slice(0, 16)}.sock`), beside];
}
