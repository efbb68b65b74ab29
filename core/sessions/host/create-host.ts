import { type ChainReport, verifyJournal } from "../../records/journal/verify-journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { RegistryChanges } from "../../packages/registry/registry.ts";
import { everRequested } from "../../packages/permissions/requested-permissions.ts";
import { resolve } from "../../ground/platform/files/paths.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { sweepStores } from "./attachments/sweep-stores.ts";
import { prepareReplay } from "./box/wire-boxes.ts";
import { checkWorkdir } from "./check-request.ts";
import { closeHost } from "./close-host.ts";
import type { Host, HostOptions } from "./host.ts";
import type { HostSeams } from "./host-seams.ts";
import { KeyedSessions } from "./idempotency.ts";
import { LocalConversations } from "./conversations.ts";
import { Rewinds } from "./state/rewinds.ts";
import { openSessionHost, recordOf, recordsOf } from "./open-session-host.ts";
import { readListed } from "./state/moved-messages.ts";
import { readRewound, type RewoundTalk, RewoundTalks } from "./state/rewound-talks.ts";
import { recordSession } from "./state/record.ts";
import { recover, recoverOthers } from "./state/recover.ts";
import { lostResumer, ownSessions, resumer } from "./resume.ts";
import { runAll } from "./run-all.ts";
import { runLoop } from "./run-loop.ts";
import { load } from "./served-plugin.ts";
import { sessionHandle } from "./session-handle.ts";
import { journalFile, privateGitFolder } from "./state/state-folder.ts";
import { hostWorkspaces } from "./state/workspaces.ts";
import { type HostDeps, openHostDeps } from "./host-deps.ts";
import { tellProblems } from "./plugin-problems.ts";

/**
 * Makes a host: finds and checks the plugins and opens the journal. It starts nothing else until a session needs it.
 * @param seams for what stands above a host, as a cluster of several does
 * @throws {BulkheadError} `invalid_config`, `invalid_manifest`, `duplicate_plugin`, `journal_error`, `io_error`, `busy`
 */
export async function createHost(options: HostOptions = {}, seams: HostSeams = {}): Promise<Host> {
  const deps = await openHostDeps(options, seams);
  const { claim, journal, log, state, writeLog } = deps;
  let left: string[] = [];
  let rewound: RewoundTalk[] = [];
  const resume = options.resume === true ? resumer({ ...deps, journal }) : undefined;
  try {
    left = await readListed(journal);
    rewound = await readRewound(journal);
    await recover({ reaped: state.reaped, journal, log, resume, writeLog, gitDir: privateGitFolder(claim.folder) });
    const others = await recoverOthers(claim.root, { writeLog, resume });
    left.push(...others.moved);
    rewound.push(...others.rewound);
    // The start does not wait for it: until it is done the whole folder is held.
    void deps.workspaces.lookAtLeft([claim.root]);
  } catch (error) {
    await closeHost(deps, options.closeDeadlines);
    throw error;
  }
  const { host, conversations } = hostOf(deps, { options, left, rewound });
  await conversations.finishRewinds();
  await conversations.moved.carryOver(left, { isStaying: options.resume === true });
  return host;
}

function hostOf(
  deps: HostDeps,
  { options, left, rewound }: {
    options: HostOptions;
    left: readonly string[];
    rewound: readonly RewoundTalk[];
  },
): { host: Host; conversations: LocalConversations } {
  const {
    attachments,
    carried,
    claim,
    crashes,
    journal,
    lateEnds,
    log,
    pins,
    registry,
    root,
    routes,
    services,
    sessions,
    settings,
  } = deps;
  const handles = { journal, log, lateEnds, find: (id: string) => sessions.find(id) };
  const keyed = new KeyedSessions({
    limits: () => settings.limits,
    handleOf: (id) => sessionHandle(handles, id),
    journal,
  });
  async function* eventsOf(id: string): AsyncGenerator<Envelope, void, void> {
    yield* (await host.sessions.open(id)).events();
  }
  const runSession: Host["runSession"] = (request, run = {}) =>
    keyed.run(request, run, async (begins) => {
      const { request: prepared, terms, play } = await prepareReplay(request, run, { ...deps, eventsOf });
      const live = await sessions.start(prepared, run, { begins, ...terms });
      void play?.({ id: live.id, talk: live.session.talk }).catch((error: unknown) =>
        live.session.stop("fatal", toErrorData(error).message)
      );
      return sessionHandle(handles, live.id, live);
    });
  const known = { ...handles, others: deps.others };
  const rewinds = new Rewinds({
    stateDir: claim.root,
    folder: deps.checkpointsDir,
    exclude: [claim.root, ...settings.secretPaths],
    ofConversation: (id) => sessions.ofConversation(id),
    // One that no record names is kept: records may come back, as after a mend of the journal.
    isGone: async (id) => await recordOf(known, id) !== null && (await recordsOf(known, id)).length === 0,
    left: (id) => sessions.left(id),
    sharedWith: (live) => sessions.sharedWith(live),
    written: () => log.written(),
    workingIn: (workdir) => sessions.workingIn(workdir),
  });
  void log.written().then(() => rewinds.sweep()).catch(() => {});
  const conversations = new LocalConversations({
    journal,
    log,
    find: handles.find,
    ofConversation: (id) => sessions.ofConversation(id),
    record: (id) => recordOf(known, id),
    records: (id) => recordsOf(known, id),
    open: (id) => host.sessions.open(id),
    start: (request, run, next) => sessions.start(request, run, next),
    shared: deps.shared,
    attachments,
    carried,
    ownSessions: (adapter) => ownSessions(registry.get(adapter)),
    firstOpen: async (adapter, request) => {
      const route = await routes.route({ adapter, request }).catch(() => null);
      return route?.candidates[0]?.adapter_id ?? null;
    },
    once: (request, run, start) => keyed.run(request, run, start),
    summary: (id) => host.sessions.get(id),
    rewinds,
    rewound: new RewoundTalks(journal, rewound),
    written: () => log.written(),
    writeLog: deps.writeLog,
  }, left);
  const isKept = async (id: string) =>
    sessions.isRunning(id) || await recordOf(known, id).then((record) => record !== null && record.deleted === null);
  const stopSweeps = sweepStores([attachments, deps.records], { isKept, writeLog: deps.writeLog });
  sessions.moveMessagesBy((live, messages) => conversations.moved.move(live, messages));
  const problems = () => [...registry.problems, ...services.problems()];
  let closing: Promise<void> | null = null;
  let verifying: Promise<ChainReport> | null = null;
  const reloads = new Sequence();
  const host: Host = {
    registry: {
      list: () => registry.list(),
      get: (id) => registry.get(id),
      register: (folder, wanted) => registry.register(folder, wanted),
      remove: async (id) => {
        registry.remove(id);
        routes.forget(id);
        await services.remove(id);
      },
      problems,
    },
    runSession,
    attach: (content) => attachments.add(content instanceof Uint8Array ? [content] : content),
    runAll: (request, run = {}) => runAll(host, request, run),
    runLoop: (request, run = {}) => runLoop(host, request, run),
    events: (wanted = {}) => log.subscribe(wanted),
    load: (adapter) => load(services.of(adapter)),
    edited: () => services.edited(),
    codeOf: async (adapter) => await services.of(adapter).code(),
    quarantined: () => crashes.quarantined(),
    release: (id) => release(deps, id),
    pinned: (id) => pins.of(id).list(),
    record: (sessionId, file, wanted) => {
      const recording = {
        journal,
        isRunning: (id: string) => sessions.isRunning(id),
        redactorOf: (adapters: ReadonlySet<string>) => redactorOf(deps, adapters),
      };
      return recordSession(recording, { sessionId, file: resolve(root, file), options: wanted });
    },
    history: deps.history,
    verify: () => verifying ??= verify(deps).finally(() => verifying = null),
    workspaces: hostWorkspaces(deps.workspaces, {
      manifest: () => settings.manifest,
      left: (id) => sessions.left(id),
      endKept: (worktree) => sessions.endKept(worktree),
      placeOf: async (workdir) => ({
        workdir: await checkWorkdir(workdir, deps.guarded().closedFolders),
        exclude: [claim.root, ...settings.secretPaths],
      }),
      looks: deps.looks,
    }),
    sessions: openSessionHost({
      ...known,
      conversations,
      start: runSession,
      onDeleted: async (id) => {
        deps.history.forgetDeleted();
        void rewinds.sweep();
        await Promise.all([attachments.forget(id), deps.records.forget(id)]);
      },
      attach: (content, wanted) => attachments.add(content, wanted),
      agents: (wanted) => routes.agents(wanted),
      budgets: () => deps.budgets.report(),
    }),
    probe: async (adapter) => await routes.probe(services.of(adapter).plugin.id),
    agents: (wanted) => routes.agents(wanted),
    route: (wanted) => routes.route(wanted),
    // One after the other, so that the later one always wins, even if the earlier one takes longer to read.
    reload: (next) => reloads.run(() => reload(deps, next)),
    signals: () => deps.signals.snapshot({ ...routes.gauges(), problems: problems() }),
    resumeLost: lostResumer(deps),
    carried,
    limits: () => settings.limits,
    stateProblem: () => deps.health.look(),
    waiting: () => sessions.waiting(),
    facts: () => sessions.facts(),
    idle: () => {
      sessions.retire();
      return sessions.ended();
    },
    close: () => {
      stopSweeps();
      return closing ??= closeHost(deps, options.closeDeadlines);
    },
  };
  return { host, conversations };
}

async function reload(deps: HostDeps, next: HostManifest): Promise<RegistryChanges> {
  const { registry, routes, services, sessions, settings, writeLog } = deps;
  const putIntoForce = await settings.prepare(next);
  const changes = await registry.reload(next);
  tellProblems(registry, writeLog);
  putIntoForce();
  const retire = (id: string): void => {
    routes.forget(id);
    services.retire(id, sessions.ended());
  };
  [...changes.removed, ...changes.changed].forEach(retire);
  const edited = await services.outdated();
  edited.forEach(retire);
  return { ...changes, changed: [...changes.changed, ...edited].sort() };
}

async function verify({ journal, log, claim }: HostDeps): Promise<ChainReport> {
  await log.settled();
  // Damage that it finds is set aside at once.
  return await verifyJournal(journalFile(claim.folder), {}).finally(() => journal.sweep().catch(() => {}));
}

async function release({ crashes, routes, services }: HostDeps, id: string): Promise<boolean> {
  const health = services.find(id)?.pool.health;
  // Otherwise a crash that is still being written would reappear.
  await health?.settled();
  const known = await crashes.remove(id);
  await health?.refresh();
  routes.forget(id);
  return known;
}

/**
 * Redacts every secret that these adapters could ever be given, not only those granted now: redacting more is harmless.
 */
async function redactorOf({ registry, settings }: HostDeps, adapters: ReadonlySet<string>): Promise<Redactor | null> {
  const plugins = [...adapters].flatMap((id) => registry.get(id) ?? []);
  const secrets = plugins.flatMap(({ manifest }) => everRequested(manifest).secrets ?? []);
  return (await settings.openSecrets({ secrets })).redactor;
}
