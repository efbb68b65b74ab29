import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { AttachmentStore } from "./attachments/attachment-store.ts";
import { CarriedAttachments } from "./attachments/carried-attachments.ts";
import { KeptSessions } from "./kept-sessions.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { storesIn } from "../../records/checkpoints/store-place.ts";
import { WireRecords } from "../../records/wire/record-files.ts";
import { SharedLooks } from "../../records/git/shared-looks.ts";
import { HistoryIndex } from "../../records/history/history-index.ts";
import { openJournalReader } from "../../records/journal/journal-reader.ts";
import type { TelemetryExport } from "../../records/telemetry/telemetry-export.ts";
import { openJournal } from "../../records/journal/open-journal.ts";
import { markSuspect } from "../../records/journal/check-journal.ts";
import { IdleContainers } from "../../walls/pool/idle-containers.ts";
import { AgentNetworks } from "../../walls/agent/agent-networks.ts";
import type { ContainerOptions } from "../../walls/pool/spare-container.ts";
import { type KnownManifests, openKnownManifests } from "../../packages/manifest/known-manifests.ts";
import { realInstalledFolder } from "../../packages/manifest/plugin-lock.ts";
import { createRegistry, type Registry } from "../../packages/registry/registry.ts";
import { mkdir, realpath } from "../../ground/platform/files/files.ts";
import { recordsFolder } from "../../ground/recorded/exposed-folders.ts";
import { shareBundler } from "../../packages/bundler/make-bundle.ts";
import { keepInspectorShut } from "../../ground/platform/engine/keep-inspector-shut.ts";
import { defaultOsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { dirname, join, resolve } from "../../ground/platform/files/paths.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import { workingDirectory } from "../../ground/platform/engine/platform.ts";
import { makeTemporaryFolder } from "../../ground/platform/files/temporary-folder.ts";
import { LateEnds } from "../session/late-ends.ts";
import { MergedLog } from "../session/merged-log.ts";
import { openWorkspaces, type Workspaces } from "../../records/workspace/workspaces.ts";
import { type CrashFiles, openCrashFiles } from "./state/crash-store.ts";
import { guardedPlaces } from "./guarded-places.ts";
import { unavailableFolders } from "./state/acted-on.ts";
import { Notices } from "./notices/notices.ts";
import { sendNotice } from "./notices/send-notice.ts";
import { exportTelemetry } from "./export-telemetry.ts";
import { exposer } from "./exposer.ts";
import { tellProblems } from "./plugin-problems.ts";
import type { HostOptions } from "./host.ts";
import type { ElsewhereSessions, HostSeams } from "./host-seams.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { OtherJournals } from "./state/other-journals.ts";
import { pastCharges } from "./state/past-charges.ts";
import { NamedBudgets } from "../session/spend/named-budgets.ts";
import { SharedBudgets } from "../session/spend/shared-budgets.ts";
import { keepJournal } from "./state/keep-journal.ts";
import { LiveSessions } from "./live-sessions.ts";
import { OperatorSettings } from "./operator-settings.ts";
import { openPins } from "./state/pin-store.ts";
import { PluginServices } from "./plugin-services.ts";
import { probe } from "./probe.ts";
import { missingKeys } from "./agent-keys.ts";
import { noKeyMissing } from "../routing/access-key.ts";
import { openRoutes, type Routes } from "./routes.ts";
import { Signals } from "./signals.ts";
import { logQuarantine, logSession } from "./session-log.ts";
import type { SessionDeps } from "./start-session.ts";
import { journalFile, pinsFolder, stateFolderOf } from "./state/state-folder.ts";
import { watchClock } from "./watch-clock.ts";
import { DiskReserve } from "../../ground/platform/state/disk-reserve.ts";
import { StateHealth, type StateProblem } from "../../ground/platform/state/state-health.ts";
import { giveBackState, type HeldState, takeState } from "./state/take-state.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** Collaborators of a host, opened and connected to each other. */
export interface HostDeps extends SessionDeps {
  /** Sessions of other hosts: of the same state folder, and of other machines. */
  others: readonly ElsewhereSessions[];
  root: string;
  /** The state folder of a host that keeps nothing; null for any other host. */
  temporary: string | null;
  state: HeldState;
  registry: Registry;
  journal: Journal;
  /** Room for the journal on a full disk; null for a host that keeps nothing. */
  reserve: DiskReserve | null;
  history: HistoryIndex;
  telemetry: TelemetryExport;
  notices: Notices;
  stopKeeping(): Promise<void>;
  signals: Signals;
  crashes: CrashFiles;
  services: PluginServices;
  routes: Routes;
  sessions: LiveSessions;
  carried: CarriedAttachments;
  workspaces: Workspaces;
  /** Ends the bundler, if no other host of this process shares it. */
  leaveBundler(): Promise<void>;
}

/**
 * Opens everything a host needs and takes its part of the state folder; when it throws, nothing stays open.
 * @throws {BulkheadError} as `createHost`
 */
export async function openHostDeps(options: HostOptions, seams: HostSeams): Promise<HostDeps> {
  keepInspectorShut();
  const { manifest, askGrant, keepDenial, onlyFirst, program, warm = false, writeLog = () => {} } = options;
  const root = resolve(options.root ?? (manifest?.file ? dirname(manifest.file) : workingDirectory()));
  const temporary = options.stateDir === null ? await makeTemporaryFolder("state") : null;
  const stateDir = temporary ?? stateFolderOf(options, root);
  // Comes first, so that the spare warden boots while the plugins are read.
  const terms = warm ? spareTerms(manifest) : null;
  const state = await takeState(stateDir, { spare: terms, onlyFirst, program, writeLog });
  const { claim, children, spare, trash } = state;
  const health = new StateHealth({
    folder: claim.root,
    part: claim.folder,
    onChange: healthLog(writeLog),
  });
  const reserve = temporary === null ? new DiskReserve(join(claim.folder, "reserve"), { bytes: reserveBytes }) : null;
  const known = await openKnownManifests(join(claim.root, "manifests.json"));
  let renewHistory = (): void => {};
  const onReplaced = () => renewHistory();
  const stores = { claim, known, reserve, health, root, options, seams, writeLog, onReplaced };
  const { registry, journal } = await openStores(stores).catch(
    async (error) => {
      health.close();
      await reserve?.close();
      await giveBackState(state);
      if (temporary !== null) await removeTree(temporary);
      throw error;
    },
  );
  await known.keep();
  tellProblems(registry, writeLog);
  const settings = await OperatorSettings.open({ manifest, secretsFile: options.secretsFile });
  const guarded = await guardedBy({ root, manifest, claim, settings, registry });
  const signals = new Signals();
  const crashes = logQuarantine(openCrashFiles(join(claim.root, "crashes")), writeLog);
  const workspaces = openWorkspaces(join(claim.root, "workspaces"), claim);
  const notices: Notices = new Notices({
    settings: () => settings.manifest?.notify,
    waiting: () => sessions.waiting(),
    held: () => workspaces.held(),
    session: (id) => journal.session(id),
    send: (notice, notify, signal) => sendNotice(notice, notify, { settings, signal }),
    writeLog,
  });
  const lateEnds = new LateEnds();
  health.addCheck(() => lateEnds.write());
  const others = [new OtherJournals(claim.root, { ownFile: journalFile(claim.folder) }), ...seams.others ?? []];
  const attachments = new AttachmentStore(join(claim.root, "attachments"));
  const sessionDeps: SessionDeps = {
    claim,
    children,
    trash,
    kept: new KeptSessions({
      limits: () => settings.limits,
      onUnmeasured: () => writeLog({ level: "warn", message: unmeasured }),
    }),
    attachments,
    records: new WireRecords(join(claim.root, "wire")),
    budgets: new NamedBudgets({
      settings: () => settings.budgets,
      isHeld: () => settings.manifest?.cluster === undefined,
      past: (span) => pastCharges({ journal, log: sessionDeps.log, others, plugin: (id) => registry.get(id) }, span),
    }),
    shared: new SharedBudgets(),
    networks: new AgentNetworks({ folder: join(claim.folder, "scratch", "networks"), spares: warm ? 0 : 2 }),
    pins: openPins(join(claim.root, pinsFolder)),
    log: new MergedLog(journal, (stream, event) => {
      signals.see(stream, event);
      notices.see(stream, event);
      logSession(stream, event, writeLog);
    }),
    looks: new SharedLooks(join(claim.folder, "scratch", "looks")),
    settings,
    guarded,
    lateEnds,
    checkpointsDir: storesIn(claim.root),
    health,
    expose: exposer({ root, settings, registry, writeLog }),
    writeLog,
    watchHeld: (watched) => workspaces.watchHeld(watched),
    keepHeld: async (held) => {
      await workspaces.keepHeld(held);
      notices.seeHeld(held.session_id, held.items.length);
    },
    askGrant,
    deniedNow: (id) => registry.get(id)?.deny ?? {},
    keepDenial: keepDenial && ((denied) => keepDenial(denied).catch(unkept(denied, writeLog))),
  };
  const history = openHistory(claim.folder, { log: sessionDeps.log, journal });
  renewHistory = () => history.renew();
  const telemetry = exportTelemetry(claim.folder, { journal, log: sessionDeps.log, settings, writeLog });
  const idle = new IdleContainers();
  const services = new PluginServices({ registry, crashes, children, spare, idle, stateDir: claim.root });
  const routes = openRoutes({
    plugins: () => registry.list(),
    plugin: (id) => registry.get(id),
    problems: () => registry.problems,
    settings,
    claim,
    probe: (adapter, signal) => probe(services.of(adapter), { deps: sessionDeps, workdir: root, signal }),
    quarantined: () => crashes.quarantined(),
    missingKeys: async (adapter, env) =>
      seams.keyless ? noKeyMissing : await missingKeys(services.of(adapter), { deps: sessionDeps, workdir: root, env }),
    shareUses: seams.shareUses,
  });
  const serviceOf = (adapter: string) => services.of(adapter);
  const carried = new CarriedAttachments({ store: attachments, shared: seams.sharedBytes, writeLog });
  const live = { ...sessionDeps, carried, routes, workspaces, serviceOf, slots: seams.slots };
  const sessions: LiveSessions = new LiveSessions(live);
  const stopClock = await watchClock(journal, writeLog).catch(() => () => {});
  const stopKept = keepJournal(journal, {
    limits: () => settings.retention,
    writeLog,
    onRemoved: () => {
      history.forgetDeleted();
      const isKept = async (id: string) => (await journal.session(id))?.deleted == null;
      void sessionDeps.records.sweep(isKept).catch(() => {});
    },
  });
  const stopKeeping = async (): Promise<void> => {
    stopClock();
    await stopKept();
  };
  return {
    ...sessionDeps,
    carried,
    others,
    root,
    temporary,
    state,
    registry,
    journal,
    reserve,
    history,
    telemetry,
    notices,
    stopKeeping,
    signals,
    crashes,
    services,
    routes,
    sessions,
    workspaces,
    leaveBundler: shareBundler(),
  };
}

function openHistory(folder: string, { log, journal }: { log: MergedLog; journal: Journal }): HistoryIndex {
  const file = journalFile(folder);
  // The index may find damage that the journal itself has not read.
  const onDamage = (problem: string) => void markSuspect(file, problem).then(() => journal.sweep()).catch(() => {});
  return new HistoryIndex({
    file: join(folder, "history.db"),
    openJournal: () => openJournalReader(file, { onDamage }),
    newest: () => log.newest,
  });
}

interface GuardDeps extends Pick<StoresOptions, "claim" | "root"> {
  manifest: HostOptions["manifest"];
  settings: OperatorSettings;
  registry: Registry;
}

/** Finds the places that no plugin may touch, and returns them with those of the plugins that are there when asked. */
async function guardedBy({ root, manifest, claim, settings, registry }: GuardDeps): Promise<SessionDeps["guarded"]> {
  const manifestFile = manifest?.file === undefined ? null : await realpath(manifest.file).catch(() => null);
  const installedDir = manifestFile === null ? null : await realInstalledFolder(manifestFile);
  const realRoot = await realpath(root).catch(() => root);
  // The command line keeps code and checked manifests there, wherever this host's state is.
  const ownState = await realpath(stateFolders().state).catch(() => stateFolders().state);
  // A folder that is not there cannot be kept from an agent, which could make it then.
  await mkdir(recordsFolder(), { recursive: true, mode: 0o700 }).catch(() => {});
  const records = await realpath(recordsFolder()).catch(() => recordsFolder());
  const stateDirs = [claim.root, ownState, records];
  return () => {
    const { secretPaths } = settings;
    const plugins = registry.list();
    const unavailable = unavailableFolders(registry.problems, realRoot);
    return guardedPlaces({ root: realRoot, stateDirs, manifestFile, installedDir, secretPaths, plugins, unavailable });
  };
}

interface StoresOptions {
  claim: HeldState["claim"];
  known: KnownManifests;
  root: string;
  options: HostOptions;
  seams: HostSeams;
  reserve: DiskReserve | null;
  health: StateHealth;
  writeLog(record: LogRecord): void;
  /** Called when another file has taken the place of a damaged journal. */
  onReplaced(): void;
}

/** Enough for the ends of a thousand sessions. */
const reserveBytes = 4 * 1024 * 1024;

/** Opens the registry and the journal: both, or neither. */
async function openStores(
  { claim, known, reserve, health, root, options, seams, writeLog, onReplaced }: StoresOptions,
): Promise<{ registry: Registry; journal: Journal }> {
  const { manifest, bundledDir } = options;
  const onProblem = (message: string) => writeLog({ level: "error", message });
  const file = journalFile(claim.folder);
  const sync = manifest?.journal?.sync;
  const open = () => openJournal(file, { onProblem, onReplaced, reserve: reserve ?? undefined, health, sync });
  const opening = seams.openJournal === undefined ? open() : seams.openJournal(file, open);
  opening.catch(() => {});
  try {
    return { registry: await createRegistry({ manifest, root, bundledDir, known }), journal: await opening };
  } catch (error) {
    await opening.then((journal) => journal.close(), () => {});
    throw error;
  }
}

/** Returns the terms that fit most plugins: those without limits of their own. */
function spareTerms(manifest: HostManifest | undefined): ContainerOptions {
  return {
    limits: { ...defaultLimits, ...manifest?.limits },
    osWalls: { ...defaultOsWallUses, ...manifest?.os_walls },
  };
}

/** Makes what writes one line to the log when the state cannot be written, and one when it can be again. */
function healthLog(writeLog: (record: LogRecord) => void): (problem: StateProblem | null) => void {
  let since = 0;
  return (problem) => {
    if (problem === null) {
      const seconds = Math.max(1, Math.round((Date.now() - since) / 1000));
      return writeLog({ level: "info", message: `The state can be written again, after ${seconds} s.` });
    }
    since = Date.now();
    const { code, state, hint, file } = problem;
    const message = `The state cannot be written, so no session starts: ${state}. ${hint}`;
    writeLog({ level: "error", message, fields: { cause_code: code, file } });
  };
}

const unmeasured =
  "The memory of kept agents cannot be measured on this machine: the limit kept_sessions alone bounds them.";

/** Makes what tells the log that a client's "never" could not be kept; the host stays denied for the session. */
function unkept(
  { plugin_id, target }: MissingGrant,
  writeLog: (record: LogRecord) => void,
): (error: unknown) => void {
  return (error) => {
    const message = `Cannot keep the denial of ${target} to ${plugin_id}: ${toErrorData(error).message}`;
    writeLog({ level: "error", message });
  };
}
