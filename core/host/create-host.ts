import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { grantPlace } from "../config/parse-host-manifest.ts";
import { hostVersion } from "../config/version.ts";
import { openJournal } from "../journal/sqlite-journal.ts";
import { stopBundler } from "../registry/bundle.ts";
import { createRegistry } from "../registry/registry.ts";
import { startChildLedger } from "../runtime/child-ledger.ts";
import { mkdtemp, realpath, rm, tmpdir } from "../runtime/files.ts";
import { randomId } from "../runtime/hash.ts";
import { liveThreads } from "../runtime/live-threads.ts";
import { dirname, join, resolve } from "../runtime/paths.ts";
import { workingDirectory } from "../runtime/platform.ts";
import { stateFolders } from "../runtime/state-folders.ts";
import { MergedLog } from "../session/merged-log.ts";
import type { RunningSession } from "../session/running-session.ts";
import { checkRequest, checkWorkdir, fitToPlugin } from "./check-request.ts";
import { closeInSteps } from "./close-steps.ts";
import { openCrashFiles } from "./crash-store.ts";
import { guardedPlaces } from "./guarded-places.ts";
import type { Host, HostOptions, RunSessionOptions, Session } from "./host.ts";
import { load, ServedPlugin } from "./served-plugin.ts";
import { probe } from "./probe.ts";
import { ledgerFile, recover, recoverOthers } from "./recover.ts";
import { openSecrets, secretPaths, secretPlaces } from "./session-secrets.ts";
import { allowedIn, type SessionGround, startSession } from "./start-session.ts";
import { claimState } from "./state-claim.ts";

/**
 * Makes a host: finds and checks the plugins, opens the journal, starts nothing else until a session asks for it.
 * @throws {BulkheadError} `invalid_config`, `invalid_manifest`, `duplicate_plugin`, `journal_error`, `io_error`, `busy`
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  const { manifest } = options;
  const root = resolve(options.root ?? (manifest?.file ? dirname(manifest.file) : workingDirectory()));
  const registry = await createRegistry({ manifest, root, bundledDir: options.bundledDir });
  const temporary = options.stateDir === null ? await mkdtemp(join(tmpdir(), "bulkhead-state-")) : null;
  const stateDir = temporary ?? options.stateDir ?? manifestStateDir(options, root) ?? stateFolders().state;
  const claim = await claimState(stateDir);
  const journal = await openJournal(join(claim.folder, "journal.db")).catch(async (error: unknown) => {
    await claim.release();
    throw error;
  });
  const log = new MergedLog(journal);
  const { askGrant, writeLog = () => {} } = options;
  await recover({ folder: claim.folder, journal, log, writeLog });
  const children = startChildLedger(ledgerFile(claim.folder), { hostVersion });
  await recoverOthers(claim.root, writeLog);
  const crashes = openCrashFiles(join(claim.root, "crashes"));
  const manifestFile = manifest?.file === undefined ? null : await realpath(manifest.file).catch(() => null);
  const places = secretPlaces(manifest, options.secretsFile);
  const hidden = await secretPaths(places);
  const guarded = () =>
    guardedPlaces({ stateDir: claim.root, manifestFile, secretPaths: hidden, plugins: registry.list() });
  const ground: SessionGround = {
    claim,
    children,
    log,
    guarded,
    secretPaths: hidden,
    openSecrets: (permissions) => openSecrets(permissions, places),
    grantPlace: (pluginId, permission) =>
      manifest === undefined ? null : grantPlace(manifest, { pluginId, permission }),
    writeLog,
    ...(askGrant ? { askGrant } : {}),
  };
  const services = new Map<string, ServedPlugin>();
  const running = new Map<string, RunningSession>();
  const byKey = new Map<string, Promise<Session>>();
  let closing: Promise<void> | null = null;

  return {
    registry: {
      list: () => registry.list(),
      get: (id) => registry.get(id),
      register: (folder, settings) => registry.register(folder, settings),
      remove,
      problems: () => registry.problems,
    },
    runSession: (request, run) => {
      const key = typeof request?.idempotency_key === "string" ? request.idempotency_key : null;
      if (key === null) return start(request, run);
      const known = byKey.get(key);
      if (known) return known;
      const starting = start(request, run);
      byKey.set(key, starting);
      starting.catch(() => byKey.delete(key));
      return starting;
    },
    events: (wanted = {}) => log.subscribe(wanted),
    load: (adapter) => load(serviceOf(adapter)),
    quarantined: () => crashes.quarantined(),
    release: async (id) => {
      const known = await crashes.remove(id);
      await services.get(id)?.pool.health.refresh();
      return known;
    },
    probe: (adapter) => probe(serviceOf(adapter), { ground, workdir: root }),
    close: () => closing ??= close(),
  };

  async function start(
    request: SessionRequest,
    { adapter, signal, artifacts = "git" }: RunSessionOptions,
  ): Promise<Session> {
    refuseIfClosing();
    const service = serviceOf(adapter);
    const { limits } = service.plugin;
    const checked = fitToPlugin(checkRequest(request, { promptBytes: limits.prompt_bytes }), service.plugin);
    const workdir = await checkWorkdir(checked.workdir);
    const allowed = await allowedIn(ground, { plugin: service.plugin, request: checked, workdir });
    refuseIfClosing();
    if (signal?.aborted) throw new BulkheadError("interrupted", "The session was interrupted before it started.");
    if (service.sessions >= limits.sessions) throw tooManySessions(service);
    const sessionId = randomId();
    const events = log.subscribe({ sessionId });
    let session: RunningSession;
    try {
      session = startSession(ground, { sessionId, service, request: checked, workdir, artifacts, allowed });
    } catch (error) {
      events.settle();
      throw error;
    }
    running.set(sessionId, session);
    service.sessions++;
    const interrupt = () => session.stop("interrupted", "The session was interrupted.");
    signal?.addEventListener("abort", interrupt, { once: true });
    const forget = () => {
      running.delete(sessionId);
      service.sessions--;
      events.settle();
      signal?.removeEventListener("abort", interrupt);
    };
    session.result.then(forget, forget);
    return {
      id: sessionId,
      result: session.result,
      interrupt: () => {
        interrupt();
        return session.result;
      },
      answer: (requestId, choice) => session.answer(requestId, choice),
      [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    };
  }

  function refuseIfClosing(): void {
    if (closing) throw new BulkheadError("host_closed", "The host is shutting down.");
  }

  async function remove(id: string): Promise<void> {
    registry.remove(id);
    const service = services.get(id);
    services.delete(id);
    await service?.pool.close();
  }

  function serviceOf(adapter: string): ServedPlugin {
    const known = services.get(adapter);
    const plugin = registry.get(adapter);
    if (known && known.plugin === plugin) return known;
    if (!plugin?.enabled) {
      throw unknownAdapter(
        adapter,
        registry.list().filter(({ enabled }) => enabled).map(({ id }) => id),
      );
    }
    const service = new ServedPlugin(plugin, { crashes, children });
    services.set(adapter, service);
    return service;
  }

  async function close(): Promise<void> {
    for (const session of running.values()) session.stop("interrupted", "The host is shutting down.");
    const ending = Promise.allSettled([...running.values()].map(({ result }) => result));
    await closeInSteps([
      { name: "ending the sessions", act: () => ending, ms: 10_000 },
      { name: "ending the workers", act: closePools, ms: 3000 },
      { name: "killing programs", act: () => running.size > 0 ? children.killAll() : Promise.resolve(), ms: 6000 },
      { name: "writing the sessions' ends", act: () => ending, ms: 3000 },
      { name: "writing the last events", act: () => log.settled(), ms: 2000 },
      { name: "closing the journal", act: closeJournal, ms: 3000 },
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
    return rm(join(claim.folder, "scratch"), { recursive: true, force: true });
  }

  async function closePools(): Promise<void> {
    await Promise.allSettled([...services.values()].map(({ pool }) => pool.close()));
  }

  async function closeJournal(): Promise<void> {
    log.close();
    await journal.close();
  }

  async function removeTemporary(): Promise<void> {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}

const stuckThread = "A thread of a trusted plugin cannot be ended: only SIGKILL ends this process now.";

function tooManySessions({ plugin }: ServedPlugin): BulkheadError {
  const { id, limits } = plugin;
  return new BulkheadError("busy", `Plugin "${id}" has ${limits.sessions} sessions, running and waiting, already.`, {
    hint: "Try again later, or raise its limit sessions.",
  });
}

function manifestStateDir({ manifest }: HostOptions, root: string): string | null {
  return manifest?.state_dir === undefined ? null : resolve(root, manifest.state_dir);
}

function unknownAdapter(adapter: string, enabled: readonly string[]): BulkheadError {
  return new BulkheadError("unknown_adapter", `No enabled adapter has the id "${adapter}".`, {
    hint: enabled.length > 0 ? `Enabled are: ${enabled.join(", ")}.` : "Enable one under plugins in bulkhead.yaml.",
    details: { enabled: [...enabled] },
  });
}
