import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AskGrant } from "../../walls/broker/session-broker.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { Host } from "../../sessions/host/host.ts";
import { findHostManifest, readHostManifest } from "../../packages/manifest/find-host-manifest.ts";
import { dirname, resolve } from "../../ground/platform/files/paths.ts";
import { stateFolderOf } from "../../sessions/host/state/state-folder.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import type { Invocation } from "./command.ts";

interface OpenedHost extends AsyncDisposable {
  host: Host;
  /** Absent where no bulkhead.yaml was found. */
  manifest: HostManifest | undefined;
}

/** Options of {@link openHost}. */
export interface OpenHostOptions {
  /** Warm up: a session follows at once. */
  warm?: boolean;
  /** Creates the function that asks for missing grants, once the file for lasting answers is known. */
  askGrant?: ((manifestFile: string | undefined) => AskGrant) | undefined;
}

/**
 * Opens the host for a command: from `--config`, or from the bulkhead.yaml here or above. Close it with `await using`.
 * @throws {BulkheadError} `invalid_config`, `not_found`
 */
export async function openHost(
  call: Invocation,
  { askGrant, warm = false }: OpenHostOptions = {},
): Promise<OpenedHost> {
  const manifest = await loadManifest(call);
  const host: Host = await call.createHost({
    root: manifest?.file === undefined ? call.terminal.cwd : resolve(manifest.file, ".."),
    warm,
    manifest,
    stateDir: stateDirOf(call),
    askGrant: askGrant?.(manifest?.file),
    keepDenial: manifest?.file === undefined ? undefined : async (denied) => {
      const { ManifestInForce } = await import("../daemon/manifest-in-force.ts");
      const read = () => loadManifest(call);
      await new ManifestInForce(manifest, { host, read, onReloaded() {}, writeLog() {} }).deny(denied);
    },
  });
  return { host, manifest, [Symbol.asyncDispose]: () => host.close() };
}

/** Returns the state folder that the command line names; undefined where it names none. */
export function stateDirOf({ terminal, stateDir }: Pick<Invocation, "terminal" | "stateDir">): string | undefined {
  return stateDir === undefined ? undefined : resolve(terminal.cwd, stateDir);
}

/** Loads the host manifest of a command; undefined where none was found. */
export async function loadManifest(
  call: Pick<Invocation, "terminal" | "configFile" | "stateDir">,
): Promise<HostManifest | undefined> {
  const file = await manifestFile(call);
  return file === undefined ? undefined : await readHostManifest(file, { stateDir: knownDir(call) });
}

/** A host manifest that was read from a file. */
export type FileManifest = HostManifest & { file: string };

/**
 * Loads the host manifest for a command that needs one.
 * @throws {BulkheadError} `not_found`, `invalid_config`
 */
export async function fileManifest(call: Invocation): Promise<FileManifest> {
  const manifest = await loadManifest(call);
  // Keep the same object: it holds the positions of its values in the file.
  if (manifest?.file !== undefined) return manifest as FileManifest;
  throw new BulkheadError("not_found", "There is no bulkhead.yaml here or above.", {
    hint: 'Write one with "bulkhead init".',
  });
}

/** Finds the state folder that a host started here would use, and the manifest that may name it. */
export async function findState(
  call: Invocation,
): Promise<{ stateDir: string; manifest: HostManifest | undefined }> {
  const manifest = await loadManifest(call);
  const root = manifest?.file === undefined ? call.terminal.cwd : dirname(manifest.file);
  return { stateDir: stateFolderOf({ stateDir: stateDirOf(call), manifest }, root), manifest };
}

/** State folder that remembers which host manifests were checked: the manifest names its own only once it is read. */
export function knownDir({ terminal, stateDir }: Pick<Invocation, "terminal" | "stateDir">): string {
  return stateDir === undefined ? stateFolders().state : resolve(terminal.cwd, stateDir);
}

/** Finds the path of a command's host manifest; undefined where none was found. */
export async function manifestFile(call: Pick<Invocation, "terminal" | "configFile">): Promise<string | undefined> {
  return await findHostManifest({ config: call.configFile, from: call.terminal.cwd }) ?? undefined;
}
