import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { findKnownManifest, keepKnownManifest } from "../../ground/config/known-host-manifest.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import type { parseHostManifest as parse } from "../../ground/config/parse-host-manifest.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join, resolve, wayUp } from "../../ground/platform/files/paths.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";

/** File name of the host manifest. */
export const hostManifestName = "bulkhead.yaml";

/** Options of {@link findHostManifest}. */
interface FindOptions {
  /** Value of `--config`; relative to `from`. */
  config?: string | undefined;
  /** Absolute path of the working directory. */
  from: string;
  /** The environment, for the XDG folders; default: the host's own. */
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Absolute path of the host manifest: `config`, else `bulkhead.yaml` in the working directory or a folder above it,
 * else the one in the XDG config folder; null when there is none.
 * @throws {BulkheadError} `not_found` when `config` names no file; `invalid_config` for a `bulkhead.yml` in its place;
 * `unaccepted_change` for one that was removed while an agent could do that
 */
export async function findHostManifest({ config, from, env }: FindOptions): Promise<string | null> {
  if (config !== undefined) {
    const file = resolve(from, config);
    if (await isFile(file)) return file;
    throw new BulkheadError("not_found", `Cannot read the host manifest "${config}": there is no such file.`, {
      hint: "Give the path of a file, or make one with: bulkhead init",
      details: { file },
    });
  }
  for (const folder of wayUp(from)) {
    const file = join(folder, hostManifestName);
    if (await isFile(file)) return file;
    // One that an agent took away must not bring another one into force.
    await demandRecorded(file, "manifest", { gone: true });
    await refuseNearMiss(file);
  }
  const own = join(stateFolders(env).config, hostManifestName);
  if (await isFile(own)) return own;
  await refuseNearMiss(own);
  return null;
}

/** The host would run without the settings that the operator wrote. */
async function refuseNearMiss(file: string): Promise<void> {
  const near = file.replace(/yaml$/, "yml");
  if (!(await isFile(near))) return;
  const message = `Cannot use "${near}": a host manifest is called ${hostManifestName}.`;
  throw new BulkheadError("invalid_config", message, {
    hint: `Rename it to ${hostManifestName}, or name it with --config.`,
    details: { file: near },
  });
}

/**
 * Finds, reads and checks the host manifest; null when there is none. One wrong entry is left out, with its reason.
 * @throws {BulkheadError} `not_found` as {@link findHostManifest}; `invalid_config` with file, line and column; `io_error`
 */
export async function loadHostManifest(options: FindOptions): Promise<HostManifest | null> {
  const file = await findHostManifest(options);
  return file === null ? null : await readHostManifest(file);
}

/**
 * Reads and checks one host manifest. An entry of `plugins` or `tools` that is wrong is left out, with its reason.
 * @param options.stateDir A state folder; a text that has passed the checks with it before is not checked again.
 * @throws {BulkheadError} `not_found`, `io_error`, `invalid_config` with file, line and column; `unaccepted_change`
 */
export async function readHostManifest(
  file: string,
  { stateDir }: { stateDir?: string } = {},
): Promise<HostManifest> {
  const text = await readTextFile(file, { maxBytes: defaultLimits.manifest_bytes, code: "invalid_config" });
  await demandRecorded(resolve(file), "manifest", { sha256: sha256Hex(text) });
  const known = stateDir === undefined ? null : await findKnownManifest({ file, text, stateDir });
  const manifest = known ?? (await hostManifestParser())(text, { file, leaveOut: true });
  if (known === null && stateDir !== undefined) await keepKnownManifest(manifest, { file, text, stateDir });
  manifest.file = file;
  return manifest;
}

/**
 * Reads the state folder that a host manifest names, which cannot be read as a whole: its line alone tells it.
 * @returns undefined where it names none, or where that line cannot be read either
 * @throws {BulkheadError} as {@link readHostManifest}, but for what stands in the file
 */
export async function readStateDir(file: string): Promise<string | undefined> {
  const text = await readTextFile(file, { maxBytes: defaultLimits.manifest_bytes, code: "invalid_config" });
  await demandRecorded(resolve(file), "manifest", { sha256: sha256Hex(text) });
  const line = /^state_dir:.*$/m.exec(text)?.[0];
  if (line === undefined) return undefined;
  try {
    return (await hostManifestParser())(`bulkhead: 1\n${line}\n`, { file }).state_dir;
  } catch {
    return undefined;
  }
}

/**
 * Checks the text of a host manifest and fills in its defaults. What does that is loaded at the first call: many hosts
 * have no such file.
 * @throws {BulkheadError} `invalid_config`, listing every problem with file, line and column
 */
export async function parseHostManifest(text: string, { file }: { file: string }): Promise<HostManifest> {
  return (await hostManifestParser())(text, { file });
}

async function hostManifestParser(): Promise<typeof parse> {
  return (await import("../../ground/config/parse-host-manifest.ts")).parseHostManifest;
}

/** Whether a plain file stands at a path, or a link leads to one. */
export async function isFile(path: string): Promise<boolean> {
  return await stat(path).then((found) => found.isFile(), () => false);
}
