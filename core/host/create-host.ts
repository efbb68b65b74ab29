import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { openJournal } from "../journal/sqlite-journal.ts";
import { stopBundler } from "../registry/bundle.ts";
import { createRegistry } from "../registry/registry.ts";
import { mkdtemp, rm, tmpdir } from "../runtime/files.ts";
import { randomId } from "../runtime/hash.ts";
import { dirname, join, resolve } from "../runtime/paths.ts";
import { workingDirectory } from "../runtime/platform.ts";
import { stateFolders } from "../runtime/state-folders.ts";
import { within } from "../runtime/within.ts";
import { MergedLog } from "../session/merged-log.ts";
import type { RunningSession } from "../session/running-session.ts";
import { checkRequest, checkWorkdir, fitToPlugin } from "./check-request.ts";
import type { Host, HostOptions, RunSessionOptions, Session } from "./host.ts";
import { load, PluginService } from "./plugin-service.ts";
import { probe } from "./probe.ts";
import { type SessionGround, startSession } from "./start-session.ts";
import { claimState } from "./state-claim.ts";

/** Longest that `close()` waits for sessions that were told to end. */
const closeTimeoutMs = 10_000;

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
  const ground: SessionGround = { claim, log, writeLog, ...(askGrant ? { askGrant } : {}) };
  const services = new Map<string, PluginService>();
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
    probe: (adapter) => probe(serviceOf(adapter), { ground, workdir: root }),
    close: () => closing ??= close(),
  };

  async function start(request: SessionRequest, { adapter, signal, artifacts = "git" }: RunSessionOptions): Promise<Session> {
    refuseIfClosing();
    const service = serviceOf(adapter);
    const { limits } = service.plugin;
    const checked = fitToPlugin(checkRequest(request, { promptBytes: limits.prompt_bytes }), service.plugin);
    const workdir = await checkWorkdir(checked.workdir);
    refuseIfClosing();
    if (signal?.aborted) throw new BulkheadError("interrupted", "The session was interrupted before it started.");
    const sessionId = randomId();
    const events = log.subscribe({ sessionId });
    let session: RunningSession;
    try {
      session = startSession(ground, { sessionId, service, request: checked, workdir, artifacts });
    } catch (error) {
      events.settle();
      throw error;
    }
    running.set(sessionId, session);
    const interrupt = () => session.stop("interrupted", "The session was interrupted.");
    signal?.addEventListener("abort", interrupt, { once: true });
    const forget = () => {
      running.delete(sessionId);
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

  function serviceOf(adapter: string): PluginService {
    const known = services.get(adapter);
    const plugin = registry.get(adapter);
    if (known && known.plugin === plugin) return known;
    if (!plugin?.enabled) throw unknownAdapter(adapter, registry.list().filter(({ enabled }) => enabled).map(({ id }) => id));
    const service = new PluginService(plugin);
    services.set(adapter, service);
    return service;
  }

  async function close(): Promise<void> {
    for (const session of running.values()) session.stop("interrupted", "The host is shutting down.");
    const ending = Promise.allSettled([...running.values()].map(({ result }) => result));
    await within(ending, closeTimeoutMs);
    await Promise.allSettled([...services.values()].map(({ pool }) => pool.close()));
    await within(ending, closeTimeoutMs);
    await log.settled();
    log.close();
    await journal.close();
    await stopBundler();
    await claim.release();
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
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
