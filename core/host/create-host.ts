import type { HostManifest } from "../config/host-manifest.ts";
import { grantPlace } from "../config/host-manifest-places.ts";
import { defaultLimits } from "../config/limits.ts";
import type { Redactor } from "../log/redact.ts";
import type { Journal } from "../journal/journal.ts";
import { defaultRetention } from "../journal/retention.ts";
import { openJournal } from "../journal/sqlite-journal.ts";
import type { ContainerTerms } from "../pool/spare-container.ts";
import { defaultPromptSettings } from "../prompt/prompt-settings.ts";
import { openKnownManifests } from "../registry/known-manifests.ts";
import { realInstalledFolder } from "../registry/plugin-lock.ts";
import { stopBundler } from "../registry/plugin-script.ts";
import { createRegistry, type Registry, type RegistryChanges } from "../registry/registry.ts";
import { requestedPermissions } from "../registry/requested-permissions.ts";
import { unknownAdapter } from "../routing/unknown-adapter.ts";
import { mkdtemp, realpath, rm, tmpdir } from "../runtime/files.ts";
import { liveThreads } from "../runtime/live-threads.ts";
import { defaultOsWallUses } from "../runtime/os-walls/os-wall.ts";
import { dirname, join, resolve } from "../runtime/paths.ts";
import { workingDirectory } from "../runtime/platform.ts";
import { removeTree } from "../runtime/remove-tree.ts";
import { MergedLog } from "../session/merged-log.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { closeInSteps } from "./close-steps.ts";
import { openCrashFiles } from "./crash-store.ts";
import { guardedPlaces } from "./guarded-places.ts";
import { KeyedSessions } from "./idempotency.ts";
import type { Host, HostOptions } from "./host.ts";
import { keepJournal } from "./keep-journal.ts";
import { LiveSessions } from "./live-sessions.ts";
import { load, ServedPlugin } from "./served-plugin.ts";
import { openPins } from "./pin-store.ts";
import { probe } from "./probe.ts";
import { recordSession } from "./record.ts";
import { openRoutes } from "./routes.ts";
import { recover, recoverOthers } from "./recover.ts";
import { resumer } from "./resume.ts";
import { runAll } from "./run-all.ts";
import { runLoop } from "./run-loop.ts";
import { OtherJournals } from "./other-journals.ts";
import { openSessionHost } from "./open-session-host.ts";
import { openSecrets, secretPaths, secretPlaces } from "./session-secrets.ts";
import type { SessionGround } from "./start-session.ts";
import { Signals } from "./signals.ts";
import { journalFile, pinsFolder, stateFolderOf } from "./state-folder.ts";
import { giveBackState, takeState } from "./take-state.ts";
import { hostWorkspaces } from "./workspaces.ts";

/**
 * Makes a host: finds and checks the plugins, opens the journal, starts nothing else until a session asks for it.
 * @throws {BulkheadError} `invalid_config`, `invalid_manifest`, `duplicate_plugin`, `journal_error`, `io_error`, `busy`
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  let { manifest } = options;
  const root = resolve(options.root ?? (manifest?.file ? dirname(manifest.file) : workingDirectory()));
  const temporary = options.stateDir === null ? await mkdtemp(join(tmpdir(), "bulkhead-state-")) : null;
  const stateDir = temporary ?? stateFolderOf(options, root);
  const { askGrant, onlyFirst = false, writeLog = () => {} } = options;
  // First of all: its spare warden boots while the plugins are read.
  const state = await takeState(stateDir, { spare: options.warm ? defaultTerms(manifest) : null, onlyFirst, writeLog });
  const { claim, reaped, children, spare } = state;
  const onProblem = (message: string) => writeLog({ level: "error", message });
  const known = await openKnownManifests(join(claim.root, "manifests.json"));
  const { registry, journal } = await opened({
    registry: createRegistry({ manifest, root, bundledDir: options.bundledDir, known }),
    journal: openJournal(journalFile(claim.folder), { onProblem }),
  }).catch(async (error: unknown) => {
    await giveBackState(state);
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
    throw error;
  });
  await known.keep();
  const stopKeeping = keepJournal(journal, {
    get limits() {
      return { ...defaultRetention, ...manifest?.journal };
    },
    writeLog,
  });
  const signals = new Signals();
  const log = new MergedLog(journal, (stream, event) => signals.see(stream, event));
  const crashes = openCrashFiles(join(claim.root, "crashes"));
  const pins = openPins(join(claim.root, pinsFolder));
  const manifestFile = manifest?.file === undefined ? null : await realpath(manifest.file).catch(() => null);
  const installedDir = manifestFile === null ? null : await realInstalledFolder(manifestFile);
  let places = secretPlaces(manifest, options.secretsFile);
  let hidden = await secretPaths(places);
  const guarded = () =>
    guardedPlaces({ stateDir: claim.root, manifestFile, installedDir, secretPaths: hidden, plugins: registry.list() });
  const ground: SessionGround = {
    claim,
    children,
    pins,
    log,
    get prompt() {
      return { ...defaultPromptSettings, ...manifest?.prompt };
    },
    get approval() {
      return manifest?.approval ?? "ask";
    },
    guarded,
    get secretPaths() {
      return hidden;
    },
    openSecrets: (permissions) => openSecrets(permissions, places),
    get mcpServers() {
      return manifest?.mcp_servers ?? {};
    },
    grantPlace: (pluginId, permission) =>
      manifest === undefined ? null : grantPlace(manifest, { pluginId, permission }),
    writeLog,
    ...(askGrant ? { askGrant } : {}),
  };
  const workspaces = openWorkspaces(join(claim.root, "workspaces"));
  const services = new Map<string, ServedPlugin>();
  /** Of plugins that a reload took out or changed, and whose sessions may still run. */
  const retired = new Set<ServedPlugin>();
  const keyed = new KeyedSessions({
    get limits() {
      return { ...defaultLimits, ...manifest?.limits };
    },
    eventsOf: (sessionId) => log.subscribe({ sessionId, after: 0 }),
    journal,
    resultOf: async (sessionId) => await (await host.sessions.open(sessionId)).result(),
  });
  let closing: Promise<void> | null = null;
  let reloading: Promise<unknown> = Promise.resolve();
  const routes = openRoutes({
    plugins: () => registry.list(),
    plugin: (id) => registry.get(id),
    get manifest() {
      return manifest;
    },
    claim,
    probe: (adapter, signal) => probe(serviceOf(adapter), { ground, workdir: root, signal }),
    quarantined: () => crashes.quarantined(),
  });
  const sessions = new LiveSessions({
    ground,
    routes,
    workspaces,
    get manifest() {
      return manifest;
    },
    serviceOf,
  });

  const resume = options.resume === true ? resumer({ journal, registry, sessions, writeLog }) : undefined;
  try {
    await recover({ reaped, journal, log, resume, writeLog });
    await recoverOthers(claim.root, { writeLog, resume });
  } catch (error) {
    await close();
    throw error;
  }

  const host: Host = {
    registry: {
      list: () => registry.list(),
      get: (id) => registry.get(id),
      register: (folder, settings) => registry.register(folder, settings),
      remove,
      problems: () => registry.problems,
    },
    runSession: (request, run = {}) => keyed.run(request, run, (begins) => sessions.start(request, run, { begins })),
    runAll: (request, run = {}) => runAll(host, request, run),
    runLoop: (request, run = {}) => runLoop(host, request, run),
    events: (wanted = {}) => log.subscribe(wanted),
    load: (adapter) => load(serviceOf(adapter)),
    quarantined: () => crashes.quarantined(),
    release: async (id) => {
      // A crash that is being written would be there again.
      await services.get(id)?.pool.health.settled();
      const known = await crashes.remove(id);
      await services.get(id)?.pool.health.refresh();
      routes.forget(id);
      return known;
    },
    pinned: (id) => pins.of(id).list(),
    record: (sessionId, file, wanted) =>
      recordSession({ journal, isRunning: (id) => sessions.isRunning(id), redactorOf }, {
        sessionId,
        file: resolve(root, file),
        options: wanted,
      }),
    workspaces: hostWorkspaces(workspaces, { manifest: () => manifest, left: (id) => sessions.left(id) }),
    sessions: openSessionHost({
      journal,
      others: new OtherJournals(claim.root, { ownFile: journalFile(claim.folder) }),
      log,
      find: (id) => sessions.find(id),
      runSession: (request, run) => host.runSession(request, run),
      agents: (wanted) => routes.agents(wanted),
    }),
    probe: async (adapter) => await routes.probe(serviceOf(adapter).plugin.id),
    agents: (options) => routes.agents(options),
    route: (options) => routes.route(options),
    reload: (next) => {
      // One after the other: of two, the later one holds, however long each takes to read.
      const turn = reloading.then(() => reload(next));
      reloading = turn.catch(() => undefined);
      return turn;
    },
    signals: () => signals.snapshot(routes.gauges()),
    idle: () => sessions.ended(),
    close: () => closing ??= close(),
  };
  return host;

  /** All that these adapters may be given, whatever the operator grants now: redacting more is no harm. */
  async function redactorOf(adapters: ReadonlySet<string>): Promise<Redactor | null> {
    const plugins = [...adapters].flatMap((id) => registry.get(id) ?? []);
    const secrets = plugins.flatMap(({ manifest: asked }) => requestedPermissions(asked).secrets ?? []);
    return (await ground.openSecrets({ secrets })).redactor;
  }

  async function remove(id: string): Promise<void> {
    registry.remove(id);
    const service = services.get(id);
    services.delete(id);
    routes.forget(id);
    await service?.pool.close(`Plugin "${id}" was taken out of service.`);
  }

  async function reload(next: HostManifest): Promise<RegistryChanges> {
    const nextPlaces = secretPlaces(next, options.secretsFile);
    const nextHidden = await secretPaths(nextPlaces);
    const changes = await registry.reload(next);
    manifest = next;
    places = nextPlaces;
    // What an earlier manifest named may still hold a secret that a running session has.
    hidden = [...new Set([...hidden, ...nextHidden])];
    for (const id of [...changes.removed, ...changes.changed]) retire(id);
    return changes;
  }

  /** New sessions find another service or none; those that run keep theirs to their end. */
  function retire(id: string): void {
    const service = services.get(id);
    services.delete(id);
    routes.forget(id);
    if (service === undefined) return;
    retired.add(service);
    void sessions.ended().then(() => service.pool.close()).finally(() => retired.delete(service));
  }

  function serviceOf(adapter: string): ServedPlugin {
    const known = services.get(adapter);
    const plugin = registry.get(adapter);
    if (known && known.plugin === plugin) return known;
    if (!plugin?.enabled) {
      throw unknownAdapter(adapter, registry.list());
    }
    const service = new ServedPlugin(plugin, { crashes, children, spare, cacheDir: join(claim.root, "scripts") });
    services.set(adapter, service);
    return service;
  }

  async function close(): Promise<void> {
    const ending = sessions.close();
    await closeInSteps([
      { name: "ending the sessions", act: () => ending, ms: 10_000 },
      { name: "ending the workers", act: closePools, ms: 3000 },
      { name: "killing programs", act: () => sessions.size > 0 ? children.killAll() : Promise.resolve(), ms: 6000 },
      { name: "writing the sessions' ends and leaving the worktrees", act: () => ending, ms: 6000 },
      { name: "writing the last events", act: () => log.settled(), ms: 2000 },
      { name: "writing the counters", act: () => routes.close(), ms: 1000 },
      { name: "closing the journal", act: closeJournal, ms: 3000 },
      { name: "finishing scripts", act: finishScripts, ms: 2000 },
      { name: "stopping the bundler", act: stopBundler, ms: 1000 },
      { name: "clearing the scratch folder", act: clearScratch, ms: 2000 },
      { name: "forgetting the programs", act: () => children.close(), ms: 500 },
      { name: "giving back the state folder", act: () => claim.release(), ms: 500 },
      { name: "removing the temporary folder", act: removeTemporary, ms: 1000 },
    ], (message) => writeLog({ level: "warn", message }));
    if (liveThreads() > 0) writeLog({ level: "warn", message: stuckThread });
  }

  /** Each session removes its own; what was written after its end, by an operation under way, goes here. */
  function clearScratch(): Promise<void> {
    return removeTree(join(claim.folder, "scratch"));
  }

  async function finishScripts(): Promise<void> {
    await Promise.all([...services.values(), ...retired].map((service) => service.settled()));
  }

  async function closePools(): Promise<void> {
    await Promise.allSettled([
      spare?.close(),
      ...[...services.values(), ...retired].map(({ pool }) => pool.close()),
    ]);
  }

  async function closeJournal(): Promise<void> {
    log.close();
    await stopKeeping();
    await journal.close();
  }

  async function removeTemporary(): Promise<void> {
    if (temporary === null) return;
    // Else the registrations in people's repositories would outlive their worktrees.
    await workspaces.prune({ olderThanMs: -Infinity });
    await removeTree(temporary);
  }
}

/** Both, or neither. */
async function opened(
  { registry, journal }: { registry: Promise<Registry>; journal: Promise<Journal> },
): Promise<{ registry: Registry; journal: Journal }> {
  journal.catch(() => {});
  try {
    return { registry: await registry, journal: await journal };
  } catch (error) {
    await journal.then((open) => open.close(), () => {});
    throw error;
  }
}

/** On which most plugins are contained: those that have no limits of their own. */
function defaultTerms(manifest: HostManifest | undefined): ContainerTerms {
  return {
    limits: { ...defaultLimits, ...manifest?.limits },
    osWalls: { ...defaultOsWallUses, ...manifest?.os_walls },
  };
}

const stuckThread = "A thread of a trusted plugin cannot be ended: only SIGKILL ends this process now.";
