import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { mayOpenSockets } from "../../ground/platform/processes/own-command.ts";
import { isAbsolute, join } from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";

/** Paths of a daemon's own files. Absolute paths. */
export interface DaemonFiles {
  /** Held by the daemon of this state folder while it runs. */
  lock: string;
  /** Holds the `DaemonRecord`. */
  record: string;
  log: string;
  /** Names the projects that were told that this daemon is not theirs. */
  notices: string;
  /** Candidate paths for the unix socket, the best first; none where this process may not open one. */
  sockets: string[];
}

/**
 * Returns the paths of a state folder's daemon. The socket is in the folder that the system clears at logout
 * (`XDG_RUNTIME_DIR`) where there is one, else beside the state.
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
    notices: join(stateDir, "daemon.notices"),
    sockets: mayOpenSockets() ? socketPlaces(stateDir, env) : [],
  };
}

function socketPlaces(stateDir: string, env: (name: string) => string | undefined): string[] {
  const runtimeDir = env("XDG_RUNTIME_DIR");
  const beside = join(stateDir, "daemon.sock");
  if (!runtimeDir || !isAbsolute(runtimeDir)) return [beside];
  // All daemons share one runtime folder, so the name must differ for each state folder.
  return [join(runtimeDir, "bulkhead", `${sha256Hex(stateDir).slice(0, 16)}.sock`), beside];
}
