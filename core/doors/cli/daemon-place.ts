import { BulkheadError, type ErrorCode } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { stateFolderOf } from "../../sessions/host/state/state-folder.ts";
import { dirname, resolve } from "../../ground/platform/files/paths.ts";
import type { Invocation } from "./command.ts";
import { knownDir, manifestFile } from "./open-host.ts";
import { readHostManifest, readStateDir } from "../../packages/manifest/find-host-manifest.ts";

/** State folder of the daemon that a command means, and the inputs of its start. */
export interface DaemonPlace {
  /** Absolute path; it may not exist. */
  stateDir: string;
  /** Folder of `plugins/` and of relative paths. */
  root: string;
  /** Absolute path of the host manifest; undefined where there is none. */
  configFile: string | undefined;
  /** Undefined without a host manifest. */
  manifest: HostManifest | undefined;
  /** Error of the host manifest; a running daemon may have started with an earlier, valid one. */
  problem: BulkheadError | null;
}

/** Errors of the host manifest itself. */
const ofManifest: readonly ErrorCode[] = ["invalid_config", "unaccepted_change"];

/**
 * Returns the place of a command's daemon. With an invalid host manifest it is the one of `--state-dir`, else that of its
 * line `state_dir`, else the default one.
 * @throws {BulkheadError} `not_found` for a `--config` that does not exist
 */
export async function daemonPlace(
  call: Pick<Invocation, "terminal" | "configFile" | "stateDir">,
): Promise<DaemonPlace> {
  const configFile = await manifestFile(call);
  const root = configFile === undefined ? call.terminal.cwd : dirname(configFile);
  let manifest: HostManifest | undefined;
  let problem: BulkheadError | null = null;
  try {
    manifest = configFile === undefined ? undefined : await readHostManifest(configFile, { stateDir: knownDir(call) });
  } catch (error) {
    if (!(error instanceof BulkheadError) || !ofManifest.includes(error.code)) throw error;
    problem = error;
  }
  // The daemon runs on, however half its manifest was saved since.
  const state_dir = problem?.code === "invalid_config"
    ? await readStateDir(configFile!).catch(() => undefined)
    : undefined;
  const named = manifest ?? omitUndefined({ state_dir });
  const stateDir = resolve(call.terminal.cwd, stateFolderOf({ stateDir: call.stateDir, manifest: named }, root));
  return { stateDir, root, configFile, manifest, problem };
}

/** Words for a daemon that has no socket. */
export const noSocket = "none; the log says why";
