import { containsPrograms } from "../permissions/contained-programs.ts";
import { defaultOsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { type HostManifest, type PluginSettings, unsaid } from "../../ground/config/host-manifest.ts";
import { parseHostManifest } from "../../ground/config/parse-host-manifest.ts";
import { type Blockable, blockedError, blockOf } from "../registry/blocked-plugins.ts";
import { broadPlaces } from "../permissions/broad-permissions.ts";
import { addGrant, type NewGrant } from "../manifest/edit-host-manifest.ts";
import { emptyPluginEntry, setEnabled } from "../manifest/edit-plugin-entry.ts";
import type { ExplainedPermission, ProgramWalls } from "../../../plugin-sdk/plugin-report.ts";
import { findPlugins } from "../manifest/find-plugins.ts";
import { checkInstalled, listFileOf } from "../manifest/installed-files.ts";
import { installedFolder, readLock, versionFolder } from "../manifest/plugin-lock.ts";
import type { LockedPlugin, PluginLock } from "../manifest/lock-format.ts";
import { eachOnce } from "../manifest/join-permissions.ts";
import { type OptionChoice, optionChoices } from "../manifest/option-choices.ts";
import { instancesOf, isInUse } from "../registry/instances.ts";
import { wallsOnceGranted } from "../permissions/program-walls.ts";
import { readManifest } from "../manifest/read-manifest.ts";
import { hiddenTexts } from "../permissions/shown-permissions.ts";
import { readdir } from "../../ground/platform/files/files.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import compare from "semver/functions/compare.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type EntryAsks, grantsToEntries, joinedAsks, undecidedPermissions } from "./asked-permissions.ts";
import type { FetchedPackage } from "./fetch-package.ts";
import { checkNewId, type KnownId } from "./id-policy.ts";
import { changeManifest } from "./manifest-transaction.ts";
import { type Allowances, checkAgainstLock, isSameSource } from "./source-policy.ts";
import { type StagedPackage, stagePackage, sweepStaging } from "./staging.ts";
import { keepWaiting } from "./waiting-update.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** A package that is ready to install, with all that the operator must know and decide. */
export interface PreparedInstall {
  id: string;
  manifest: Manifest;
  next: LockedPlugin;
  /** Version in use; null for a new plugin. */
  current: LockedPlugin | null;
  /** Whether the very same files are in use already. */
  unchanged: boolean;
  deprecated: string | null;
  /** Entries of the host manifest that it is granted to: its own, and those of its instances. */
  entries: string[];
  /** Permissions that still need the operator's decision, the riskiest first. */
  undecided: ExplainedPermission[];
  /** Walls around its programs once that is granted, for each entry that has others. */
  programs: ProgramWalls[];
  /** Permissions that depend on options that the operator may set, with their current values. */
  choices: OptionChoice[];
  /**
   * Takes it into use with these additional grants, for each entry that asks for them. Checks the rules again, against
   * the version then in use.
   * @returns the grants as written, and the ids of entries that another source's plugin had
   * @throws {BulkheadError} as {@link prepareInstall}, `busy`, `invalid_config`
   */
  commit(grants: readonly NewGrant[]): Promise<{ granted: NewGrant[]; emptied: string[] }>;
  /** Records that an update waits for a grant, so that lists show it. */
  wait(command: string): Promise<void>;
  /** Forgets it; what is in use stays. */
  discard(): Promise<void>;
}

interface PrepareOptions {
  /** With its file. */
  hostManifest: HostManifest & { file: string };
  allow: Allowances;
}

/**
 * Stages a fetched package and holds it against the rules: its id, its source, its version.
 * @throws {BulkheadError} `invalid_package`, `invalid_manifest`, `bundle_failed`, `duplicate_plugin`,
 * `blocked_plugin`
 */
export async function prepareInstall(fetched: FetchedPackage, options: PrepareOptions): Promise<PreparedInstall> {
  const installed = await installedFolder(options.hostManifest.file);
  const staged = await stagePackage(fetched, installed);
  try {
    const candidate = await checkStaged(staged, { fetched, options });
    const { next, current, bound } = candidate;
    const asks = await asksOf(candidate, installed);
    return {
      id: staged.manifest.id,
      manifest: staged.manifest,
      next,
      current,
      unchanged: bound !== null && bound.files === next.files,
      deprecated: fetched.deprecated,
      entries: asks.map(({ id }) => id),
      undecided: joinedAsks(asks),
      programs: eachOnce(asks.flatMap(({ programs }) => programs)),
      choices: optionChoices(staged.manifest, { id: staged.manifest.id, hostManifest: options.hostManifest }),
      discard: staged.discard,
      wait: (command) => waitForGrant(candidate, command),
      commit: (grants) => takeIntoUse(candidate, grantsToEntries(grants, asks)),
    };
  } catch (error) {
    await staged.discard();
    throw error;
  }
}

/** A staged package that the rules let in, beside what is in use. */
interface Candidate extends PrepareOptions {
  staged: StagedPackage;
  next: LockedPlugin;
  current: LockedPlugin | null;
  /** Version in use, when it is from the same source; null otherwise. */
  bound: LockedPlugin | null;
}

async function checkStaged(
  staged: StagedPackage,
  { fetched, options: { hostManifest, allow } }: { fetched: FetchedPackage; options: PrepareOptions },
): Promise<Candidate> {
  const { id, version } = staged.manifest;
  checkBlocked(hostManifest, { id, packageId: id, version, packageName: staged.packageName });
  const { plugins } = await readLock(hostManifest.file);
  const current = Object.hasOwn(plugins, id) ? plugins[id]! : null;
  if (current === null) checkEntry(hostManifest, id);
  const next = lockEntry(fetched, { version, files: staged.files, current: allow.downgrade ? null : current });
  checkRules(id, { current, next, allow, known: await knownIds(hostManifest, plugins) });
  const bound = current !== null && isSameSource(current.source, next.source) ? current : null;
  return { hostManifest, allow, staged, next, current, bound };
}

interface EntrySheet extends EntryAsks {
  programs: ProgramWalls[];
}

async function asksOf(candidate: Candidate, installed: string): Promise<EntrySheet[]> {
  const { hostManifest, staged: { manifest }, current, bound } = candidate;
  const before = bound === null ? null : await manifestInUse(installed, manifest.id, bound);
  // Grants to a plugin from another source, or to one that can no longer be read, do not apply to this one.
  const grantsApply = current === null || before !== null;
  return entriesOf(hostManifest, manifest.id, { isNew: current === null }).map((id) => {
    const { grant, deny, config, os_walls: own } = settingsOf(hostManifest, id);
    const os_walls = { ...defaultOsWallUses, ...hostManifest.os_walls, ...own };
    const places = { ...broadPlaces(hostManifest.file), contained: containsPrograms({ manifest, os_walls }) };
    const hidden = hiddenTexts(hostManifest, id, config);
    const granted = grantsApply ? grant : {};
    return {
      id,
      undecided: undecidedPermissions({ manifest, before, granted, places, config, hidden }),
      programs: wallsOnceGranted({ manifest, config, grant: granted, deny, os_walls }),
    };
  });
}

/** Entries that use a package. One that is disabled and has no grants decides nothing, where others use it. */
function entriesOf(hostManifest: HostManifest, id: string, { isNew }: { isNew: boolean }): string[] {
  const inUse = [id, ...instancesOf(hostManifest, id)].filter((entry) => isInUse(settingsOf(hostManifest, entry)));
  return inUse.length === 0 || isNew ? [...new Set([id, ...inUse])] : inUse;
}

async function waitForGrant({ hostManifest, staged, bound }: Candidate, command: string): Promise<void> {
  if (bound === null) return;
  const { manifest } = staged;
  await changeManifest(hostManifest.file, (state) => keepWaiting(state, { beside: bound, manifest, command }));
}

async function takeIntoUse(
  candidate: Candidate,
  granted: NewGrant[],
): Promise<{ granted: NewGrant[]; emptied: string[] }> {
  const { hostManifest, allow, staged, next } = candidate;
  const { id } = staged.manifest;
  return await changeManifest(hostManifest.file, async (state) => {
    const { plugins } = await state.readLock();
    const known = await knownIds(hostManifest, plugins);
    const before = Object.hasOwn(plugins, id) ? plugins[id]! : null;
    checkRules(id, { current: before, next, allow, known });
    await sweepStaging(state.installed);
    await staged.moveTo(versionFolder(state.installed, id, next));
    const isElsewhere = before !== null && !isSameSource(before.source, next.source);
    // From another source, every instance must be read: what was granted to one is not the new plugin's.
    const now = parseHostManifest(state.text, { file: hostManifest.file, leaveOut: !isElsewhere });
    const emptied = isElsewhere ? [id, ...instancesOf(now, id)] : [];
    const text = newText(state.text, { candidate, isNew: before === null, emptied, granted });
    const lock: PluginLock = { lock: 1, plugins: { ...plugins, [id]: next } };
    // A grant without its plugin, or a plugin that is not enabled, does nothing: a process killed between the two
    // leaves everything in use unchanged.
    if (before === null) {
      await state.writeLock(lock);
      await state.writeText(text);
    } else {
      await state.writeText(text);
      await state.writeLock(lock);
    }
    await removeOthers(join(state.installed, id), [next, ...(before === null ? [] : [before])]);
    return { granted, emptied };
  });
}

interface NewText {
  candidate: Candidate;
  isNew: boolean;
  /** Entries that another source's plugin had. */
  emptied: readonly string[];
  granted: readonly NewGrant[];
}

/** Edits the host manifest: a plugin that is new, or from another source, starts from an empty entry. */
function newText(text: string, { candidate, isNew, emptied, granted }: NewText): string {
  const { hostManifest: { file }, staged } = candidate;
  const { id } = staged.manifest;
  const cleared = emptied.reduce((edited, entry) => emptyPluginEntry(edited, { pluginId: entry, file }), text);
  const enabled = isNew || emptied.length > 0 ? setEnabled(cleared, { pluginId: id, enabled: true, file }) : cleared;
  return granted.reduce((edited, grant) => addGrant(edited, grant, { file }), enabled);
}

function checkBlocked(hostManifest: HostManifest, subject: Blockable): void {
  const why = blockOf(hostManifest, subject);
  if (why !== null) throw blockedError(subject.id, why);
}

/** An entry that names another plugin, or a folder, as its source would go on with that one. */
function checkEntry(hostManifest: HostManifest, id: string): void {
  const { source } = settingsOf(hostManifest, id);
  if (source === undefined || source === id) return;
  throw new BulkheadError(
    "duplicate_plugin",
    `Cannot install plugin "${id}": plugins.${id}.source in the host manifest names ${source} under that id.`,
    { hint: "Remove that line, or give that entry another id.", details: { plugin_id: id } },
  );
}

interface CheckRulesOptions {
  current: LockedPlugin | null;
  next: LockedPlugin;
  allow: Allowances;
  known: readonly KnownId[];
}

function checkRules(id: string, { current, next, allow, known }: CheckRulesOptions): void {
  if (current !== null) return checkAgainstLock(id, { locked: current, next, allow });
  const same = known.find((one) => one.id === id);
  if (same !== undefined && !allow.replaceSource) {
    throw new BulkheadError("duplicate_plugin", `Cannot install plugin "${id}": that id is ${same.origin}.`, {
      hint: "If this one is to take its place, say --replace-source.",
      details: { plugin_id: id },
    });
  }
  if (!allow.similarId) checkNewId(id, known);
}

/** Ids of everything that is there, installed or not. */
async function knownIds(
  { file, plugins: entries, tools }: PrepareOptions["hostManifest"],
  plugins: PluginLock["plugins"],
): Promise<KnownId[]> {
  const found = await findPlugins({ root: dirname(file) });
  const words = { bundled: "bundled with the host", folder: "that of a folder in plugins/", installed: "installed" };
  return [
    ...found.map(({ id, origin }) => ({ id, origin: words[origin as keyof typeof words] ?? origin })),
    ...Object.keys(plugins).map((id) => ({ id, origin: "installed" })),
    ...Object.entries(entries).flatMap(([id, { source }]) =>
      source === undefined || source === id ? [] : [{ id, origin: "that of an entry in the host manifest" }]
    ),
    ...Object.keys(tools).map((id) => ({ id, origin: "that of a tool in the host manifest" })),
  ];
}

function lockEntry(
  { source, integrity, signed_by, provenance }: FetchedPackage,
  { version, files, current }: { version: string; files: string; current: LockedPlugin | null },
): LockedPlugin {
  const former = current !== null && isSameSource(current.source, source) ? current.highest : version;
  const highest = compare(version, former) > 0 ? version : former;
  return { source, version, integrity, files, highest, signed_by, provenance, installed_at: new Date().toISOString() };
}

function settingsOf({ plugins }: HostManifest, id: string): PluginSettings {
  return Object.hasOwn(plugins, id) ? plugins[id]! : unsaid();
}

/** Null when it cannot be read any more: then all that is asked for is new. */
async function manifestInUse(installed: string, id: string, locked: LockedPlugin): Promise<Manifest | null> {
  const folder = versionFolder(installed, id, locked);
  try {
    const hashes = await checkInstalled(folder, id, locked);
    return await readManifest(folder, { sha256: hashes["plugin.yaml"] ?? "none" });
  } catch {
    return null;
  }
}

/** Keeps the version before, which a running host may still read. Removes a waiting update. */
async function removeOthers(folder: string, kept: readonly LockedPlugin[]): Promise<void> {
  const names = kept.map((locked) => versionFolder("", "", locked));
  const stay = new Set(names.flatMap((name) => [name, listFileOf(name)]));
  for (const name of await readdir(folder)) {
    if (!stay.has(name)) await removeTree(join(folder, name));
  }
}
