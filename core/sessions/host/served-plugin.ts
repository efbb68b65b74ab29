import type { CrashStore } from "../../walls/pool/plugin-health.ts";
import type { IdleContainers } from "../../walls/pool/idle-containers.ts";
import { PluginPool } from "../../walls/pool/plugin-pool.ts";
import type { SpareContainer } from "../../walls/pool/spare-container.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import { BulkheadError, type ErrorData, errorFromData } from "../../../plugin-sdk/errors.ts";
import { toBulkheadError, toErrorData } from "../../ground/errors/to-error-data.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { codeDigest } from "../../packages/registry/code-digest.ts";
import { filesMark, isAuthored, isEditable } from "../../packages/registry/files-mark.ts";
import { forAuthor } from "../../packages/registry/for-author.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { identityDrift } from "../../packages/registry/identity-drift.ts";
import { bundlePlugin } from "../../packages/bundler/plugin-script.ts";
import type { Plugin, PluginScript } from "../../packages/manifest/plugin.ts";
import { PluginPermissions } from "./plugin-permissions.ts";

/** Collaborators of {@link ServedPlugin} that all plugins of a host share. */
export interface ServedPluginDeps {
  crashes: CrashStore;
  children: ChildLedger;
  /** A warden that is already started. */
  spare: SpareContainer | null;
  /** Wardens without work. */
  idle: IdleContainers;
  /** Folder of the host's state. It keeps scripts from one start to the next, and the plugins' own data. */
  stateDir: string;
}

/** How long a digest holds while no script is in service. Milliseconds. */
const codeMs = 5000;

/** A plugin in service: its script, bundled once, and its workers. */
export class ServedPlugin {
  readonly plugin: Plugin;
  readonly pool: PluginPool;
  readonly permissions: PluginPermissions;
  /** The plugin's own durable folder. */
  readonly dataDir: string;
  readonly #cacheDir: string;
  #script: Promise<PluginScript> | null = null;
  #bundleFault: BulkheadError | null = null;
  /** Digest of the code, and when it was looked at; that of a script in service holds for as long as it does. */
  #code: { digest: Promise<string | null>; at: number } | null = null;
  /** Mark of the author's files as they were when the script was made; null for files out of a package. */
  #mark: string | null = null;

  /** Number of sessions under way, including those that wait. */
  sessions = 0;

  constructor(plugin: Plugin, { crashes, children, spare, idle, stateDir }: ServedPluginDeps) {
    this.plugin = plugin;
    this.#cacheDir = join(stateDir, "scripts");
    this.dataDir = join(stateDir, "data", plugin.id);
    this.permissions = new PluginPermissions(plugin, { dataDir: this.dataDir });
    this.pool = new PluginPool({
      pluginId: plugin.id,
      isolation: plugin.isolation,
      limits: plugin.limits,
      osWalls: plugin.os_walls,
      crashes,
      children,
      spare,
      idle,
      script: async () => (await this.script()).text,
    });
  }

  /**
   * Returns the plugin's script; its hash covers exactly the text that every worker evaluates. A failure is not kept:
   * the author may fix it.
   * @throws {BulkheadError} `bundle_failed`, `unaccepted_change`
   */
  script(): Promise<PluginScript> {
    return this.#script ??= this.#makeScript().catch((error: unknown) => {
      this.#script = null;
      this.#bundleFault = toBulkheadError(error);
      throw error;
    });
  }

  /** Why its code could not be loaded when that was tried last, in a sentence that names it; null where it could. */
  get loadFault(): BulkheadError | null {
    const fault = this.#bundleFault ?? this.pool.loadFault;
    return fault === null ? null : loadError(this.plugin.id, toErrorData(fault));
  }

  /** Returns the digest of the code that new sessions run; null where it cannot be told. */
  code(): Promise<string | null> {
    const isOld = this.#code === null || (this.#script === null && performance.now() - this.#code.at > codeMs);
    if (isOld) this.#code = { digest: codeDigest(this.plugin), at: performance.now() };
    return this.#code!.digest;
  }

  async #makeScript(): Promise<PluginScript> {
    // The files may have changed since their digest was taken.
    this.#code = null;
    const { folder, place = folder } = this.plugin;
    if (isAuthored(this.plugin)) await demandRecorded(place, "plugin");
    const script = await bundlePlugin(this.plugin, { cacheDir: this.#cacheDir });
    await this.#markFiles(script);
    this.#bundleFault = null;
    return script;
  }

  async #markFiles(script: PluginScript): Promise<void> {
    if (isEditable(this.plugin)) this.#mark = await filesMark(this.plugin, script);
  }

  /** Whether the author's files look different from when the script was made; far cheaper than {@link isOutdated}. */
  async isEdited(): Promise<boolean> {
    if (this.#mark === null) return false;
    const script = await this.#script?.catch(() => null) ?? null;
    return script !== null && await filesMark(this.plugin, script) !== this.#mark;
  }

  /** Whether the author's files would give another script. One that cannot be bundled any more counts as new. */
  async isOutdated(): Promise<boolean> {
    const served = await this.#script?.catch(() => null) ?? null;
    if (served === null) return false;
    const now = await bundlePlugin(this.plugin, { cacheDir: this.#cacheDir }).catch(() => null);
    if (now?.sha256 !== served.sha256) return true;
    // Touched, but the same: not to be told again.
    await this.#markFiles(served);
    return false;
  }

  /** Resolves when no script is being built: a finished script is cached even if its caller stopped waiting. */
  async settled(): Promise<void> {
    await this.#script?.catch(() => {});
  }
}

/** Makes the error of an enabled plugin whose code cannot be loaded; `plugin check` shows the lines of its author. */
export function loadError(
  id: string,
  { code, message, hint, details: { stack: _, ...details } = {} }: ErrorData,
): BulkheadError {
  const isNamed = message.includes(JSON.stringify(id));
  return new BulkheadError(code, isNamed ? message : `Cannot load plugin "${id}": ${message}`, {
    hint: hint ?? `Run: bulkhead plugin check ${id}`,
    details,
  });
}

/** Facts about a plugin that was loaded. */
export interface LoadReport {
  sha256: string;
  /** Sentences about the adapter's own id, name and version where they differ from the manifest's. */
  drift: string[];
}

/**
 * Loads a plugin on a worker of its pool.
 * @throws {BulkheadError} why it cannot be loaded, with positions in the author's own files
 */
export async function load(service: ServedPlugin): Promise<LoadReport> {
  const script = await service.script();
  try {
    const place = await service.pool.acquire();
    place.release();
    return { sha256: script.sha256, drift: identityDrift(service.plugin.manifest, place.lane.identity) };
  } catch (error) {
    throw errorFromData(forAuthor(toErrorData(error), script));
  }
}
