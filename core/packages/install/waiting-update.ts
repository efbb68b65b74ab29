import type { ExplainedPermission, WaitingReport } from "../../../plugin-sdk/plugin-report.ts";
import { containsPrograms } from "../permissions/contained-programs.ts";
import { type Manifest, manifestSchema } from "../../../plugin-sdk/manifest.ts";
import { checkAgainst } from "../../ground/config/check-against.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { type BreadthOptions, broadPlaces } from "../permissions/broad-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { installedFolder, readLockEntries } from "../manifest/plugin-lock.ts";
import type { LockedPlugin } from "../manifest/lock-format.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { isInUse } from "../registry/instances.ts";
import {
  type EntryAsks,
  grantFlags,
  grantsFor,
  grantWord,
  joinedAsks,
  undecidedPermissions,
} from "./asked-permissions.ts";
import type { ManifestState } from "./manifest-transaction.ts";

/** An update that was checked and not installed, because it asks for more permissions. */
export interface WaitingUpdate {
  version: string;
  /** Command that takes it into use, without the grants. */
  command: string;
  found_at: string;
  /** Permissions that still need the operator's decision, the riskiest first. */
  undecided: ExplainedPermission[];
}

/** File of a waiting update. It lies among the plugin's versions and is removed when one is taken into use. */
interface KeptUpdate {
  /** The files in use when it was found: for others it does not wait. */
  beside: string;
  command: string;
  found_at: string;
  manifest: Manifest;
}

const fileName = "waiting.json";
const maxBytes = 4 * defaultLimits.manifest_bytes;

/** Keeps that an update waits, unless another version is in use by now. */
export async function keepWaiting(
  { installed, readLock }: ManifestState,
  { beside, manifest, command }: { beside: LockedPlugin; manifest: Manifest; command: string },
): Promise<void> {
  const { id } = manifest;
  const lock = await readLock();
  if (!Object.hasOwn(lock.plugins, id) || lock.plugins[id]!.files !== beside.files) return;
  const kept: KeptUpdate = { beside: beside.files, command, found_at: new Date().toISOString(), manifest };
  await replaceFile(join(installed, id, fileName), `${JSON.stringify(kept)}\n`, 0o644);
}

/** Finds the updates that wait. Keeps what each asks for until the update, a grant or an option changes. */
export class WaitingUpdates {
  readonly #hostManifest: string | undefined;
  #asks: ReadonlyMap<string, KeptAsks> = new Map();

  constructor(hostManifest: string | undefined) {
    this.#hostManifest = hostManifest;
  }

  /**
   * Returns those that wait, by the id of their package.
   * @param plugins every plugin of the host: an update asks for all its instances
   */
  async find(plugins: readonly Plugin[]): Promise<Map<string, WaitingUpdate>> {
    const hostManifest = this.#hostManifest;
    if (hostManifest === undefined) return new Map();
    const { plugins: lock } = await readLockEntries(hostManifest);
    const places = broadPlaces(hostManifest);
    const installed = plugins.filter(({ id, origin }) => origin === "installed" && Object.hasOwn(lock, id));
    const asks = new Map<string, KeptAsks>();
    const found = await Promise.all(installed.map(async (plugin) => {
      const instances = plugins.filter(({ id, manifest }) => id !== plugin.id && manifest.id === plugin.id);
      const waiting = await findWaiting(plugin, {
        instances,
        hostManifest,
        locked: lock[plugin.id]!,
        places: { ...places, contained: containsPrograms(plugin) },
        kept: this.#asks.get(plugin.id),
      });
      if (waiting === null) return [];
      const { key, ...update } = waiting;
      asks.set(plugin.id, { key, undecided: update.undecided });
      return [[plugin.id, update] as const];
    }));
    this.#asks = asks;
    return new Map(found.flat());
  }
}

/** Permissions that an update asks for, and the text of all that they follow from. */
interface KeptAsks {
  key: string;
  undecided: ExplainedPermission[];
}

/** Returns a plugin's pending update for display, or null. */
export function waitingReport(id: string, waiting: WaitingUpdate | undefined): WaitingReport | null {
  if (waiting === undefined) return null;
  const { version, found_at, command, undecided } = waiting;
  const grants = grantsFor(id, undecided);
  return { version, found_at, asks: grants.map(grantWord), command: [command, ...grantFlags(grants)].join(" ") };
}

interface WaitingOptions {
  instances: readonly Plugin[];
  hostManifest: string;
  locked: LockedPlugin;
  places: BreadthOptions;
  kept: KeptAsks | undefined;
}

/** The update of a plugin that waits, held against what is granted now; null: none does. */
async function findWaiting(
  plugin: Plugin,
  { instances, hostManifest, locked, places, kept }: WaitingOptions,
): Promise<WaitingUpdate & KeptAsks | null> {
  const file = join(await installedFolder(hostManifest), plugin.id, fileName);
  const update = await readKept(file).catch(() => null);
  if (update === null || update.beside !== locked.files || update.manifest.id !== plugin.id) return null;
  const { command, found_at, manifest: next } = update;
  const inUse = [plugin, ...instances].filter(isInUse);
  const asking = (inUse.length === 0 ? [plugin] : inUse).map(
    ({ id, manifest, grant, config, hidden_texts = [] }) => ({ id, manifest, grant, config, hidden_texts }),
  );
  const key = JSON.stringify([next, places, asking]);
  const undecided = kept?.key === key ? kept.undecided : joinedAsks(asking.map(
    ({ id, manifest: before, grant: granted, config, hidden_texts: hidden }): EntryAsks => {
      return { id, undecided: undecidedPermissions({ manifest: next, before, granted, places, config, hidden }) };
    },
  ));
  return { version: next.version, command, found_at, undecided, key };
}

async function readKept(file: string): Promise<KeptUpdate> {
  const text = await readTextFile(file, { maxBytes, code: "invalid_config" });
  const kept = JSON.parse(text) as Record<string, unknown>;
  const { parseYaml } = await import("../../ground/config/yaml.ts");
  const parsed = parseYaml(JSON.stringify(kept["manifest"]), { file, maxBytes, maxAliases: 0 });
  const { beside, command, found_at } = kept;
  return {
    beside: String(beside),
    command: String(command),
    found_at: String(found_at),
    manifest: checkAgainst(manifestSchema, parsed),
  };
}
