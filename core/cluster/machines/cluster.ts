import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ClusterStatus } from "../../../plugin-sdk/cluster-status.ts";
import type { ClusterSettings } from "../../ground/config/cluster-settings.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { runtimeVersion } from "../../ground/platform/engine/platform.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { HostWorkspaces, OwnWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { AfterRestart, Resumable } from "../../sessions/session/interrupted-session.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import type { SecretOf } from "../engine/connect.ts";
import { Engine } from "../engine/engine.ts";
import { patiently } from "../engine/patiently.ts";
import type { MachineLog } from "../log/machine-log.ts";
import { takeOwnLog } from "../log/take-log.ts";
import { answerCalls, callMachine } from "./calls.ts";
import { machineAnswers } from "./machine-answers.ts";
import { ClusterStarts, type ClusterStartsDeps } from "./cluster-starts.ts";
import { clusterWorkspaces } from "./cluster-workspaces.ts";
import { clusterSignals, clusterStatus, type ClusterStatusDeps } from "./cluster-status.ts";
import { clusterConversations, demandCarrier } from "./cluster-conversations.ts";
import { ClusterSessions } from "./cluster-sessions.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { LostMachines } from "./lost-machines.ts";
import type { MachineFacts } from "./machine.ts";
import { OfferedAgents } from "./machine-facts.ts";
import { mergedEvents } from "./merged-events.ts";
import { Mirrors } from "./mirrors.ts";
import { Presence } from "./presence.ts";
import { resumeHere } from "./resume-here.ts";
import { isRunOver, type RunOf } from "./run-ends.ts";
import { Repositories } from "./repositories.ts";
import { SessionShares } from "./session-shares.ts";
import { SharedAttachments } from "./shared-attachments.ts";
import { SharedDiffs } from "./shared-diffs.ts";
import { SharedNotes } from "./shared-notes.ts";
import { SharedUses } from "./shared-uses.ts";
import { WorkQueue } from "./work-queue.ts";

interface JoinOptions {
  settings: ClusterSettings;
  /** Folder of the daemon's state. */
  stateDir: string;
  /** Folder of the clones of repositories. */
  repositoriesDir: string;
  secretOf: SecretOf;
  writeLog(record: LogRecord): void;
}

/** How long a note of the machines is kept. Milliseconds. */
const notesKeptMs = 400 * 24 * 3_600_000;
/** Longest wait for slots to be given back. Milliseconds. */
const spareMs = 1000;

/** This machine's part in a cluster: from before its host is made until after it is closed. */
export class Cluster {
  readonly #options: JoinOptions;
  readonly #engine: Engine;
  readonly #presence: Presence;
  readonly #mirrors: Mirrors;
  readonly #lost: LostMachines;
  readonly #answers: KeptAnswers;
  readonly #diffs: SharedDiffs;
  readonly #attachments: SharedAttachments;
  readonly #notes: SharedNotes;
  readonly #repositories: Repositories;
  readonly #queue: WorkQueue;
  readonly #shares: SessionShares;
  readonly #uses: SharedUses;
  readonly #over = new AbortController();
  readonly #run = randomId();
  readonly #startedAt = new Date().toISOString();
  /** Aborts when this machine takes no more sessions. */
  readonly #pausing = new AbortController();
  readonly #closing = new AbortController();
  readonly #undo: (() => unknown)[] = [];
  #log: MachineLog | null = null;
  #own: Pick<Journal, "lastGseq" | "session"> | null = null;
  #host: Host | null = null;
  readonly #agents = new OfferedAgents(() => this.#host);
  #hearing: Promise<unknown> = Promise.resolve();
  #serving: Promise<unknown> = Promise.resolve();

  /** @throws {BulkheadError} `unavailable`, `unauthorized`, `invalid_config` */
  static async join(options: JoinOptions): Promise<Cluster> {
    const engine = await Engine.open(options.settings, options.secretOf, options.writeLog);
    const cluster = new Cluster(options, engine);
    try {
      await mkdir(join(options.stateDir, "cluster"), { recursive: true, mode: 0o700 });
      const streams = [cluster.#answers, cluster.#notes, cluster.#queue, cluster.#uses, cluster.#shares];
      await Promise.all(streams.map((stream) => stream.open()));
      cluster.#hearing = Promise.all(
        [cluster.#uses, cluster.#shares].map((notes) => notes.follow(cluster.#closing.signal)),
      );
      return cluster;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  private constructor(options: JoinOptions, engine: Engine) {
    const { settings, writeLog } = options;
    const { name, heartbeat_ms: heartbeatMs, silent_ms: silentMs } = settings;
    this.#options = options;
    this.#engine = engine;
    this.#answers = new KeptAnswers(engine);
    this.#notes = new SharedNotes(engine, { names: engine.names.notes, keptMs: notesKeptMs });
    this.#uses = new SharedUses(engine, name);
    this.#shares = new SessionShares({
      engine,
      machine: name,
      slots: settings.slots ?? null,
      sessionsOf: () => new Map(this.#presence.others().map((facts) => [facts.name, facts.sessions])),
      askForSpare: () => this.#askForSpare(),
    });
    this.#repositories = new Repositories(options.repositoriesDir, this.#notes);
    this.#queue = new WorkQueue({
      engine,
      notes: this.#notes,
      repositories: this.#repositories,
      facts: () => this.#facts(),
      agents: () => this.#agents.look(),
      isKnown: (id) => this.#isKnown(id),
      isOver: (run) => this.#isOver(run),
      writeLog,
    });
    this.#diffs = new SharedDiffs(engine, () => this.#host?.workspaces ?? null);
    this.#attachments = new SharedAttachments(engine);
    this.#mirrors = new Mirrors({
      engine,
      machine: name,
      folder: join(options.stateDir, "cluster"),
      onFound: (machine) => this.#presence.expect(machine),
      writeLog,
    });
    this.#presence = new Presence({
      engine,
      name,
      heartbeatMs,
      silentMs,
      facts: () => (void this.#agents.look(), this.#facts()),
      onHeard: (machine) => void this.#mirrors.add(machine),
      onSilent: (machine) => this.#pausing.signal.aborted ? undefined : void this.#lost.end(machine),
      onDouble: ({ started_at }) => this.#refuseDouble(started_at),
    });
    this.#lost = new LostMachines({
      engine,
      name,
      silentMs,
      presence: this.#presence,
      mirror: (machine) => this.#mirrors.get(machine),
      shares: this.#shares,
      resume: () => (resumable) => this.#resume(resumable),
      writeLog,
    });
    this.#undo.push(engine.onConnection((connected) => writeLog(connectionRecord(connected, engine))));
  }

  /** Places in which the host takes part in the cluster. */
  get seams(): HostSeams {
    const { settings: { name: machine }, writeLog } = this.#options;
    return {
      slots: this.#shares,
      shareUses: (files) => this.#uses.store(files),
      sharedBytes: this.#attachments,
      openJournal: async (file, open) => {
        const { journal, log } = await takeOwnLog({ engine: this.#engine, machine, file, open, writeLog });
        this.#log = log;
        this.#own = journal;
        // An earlier run of this machine can begin no session any more.
        await this.#shares.caughtUp;
        await patiently("join the cluster", () => this.#shares.begin());
        const lose = () => this.#over.abort(log.lost.reason);
        if (log.lost.aborted) lose();
        else log.lost.addEventListener("abort", lose, { once: true });
        return journal;
      },
      others: [
        new ClusterSessions({
          engine: this.#engine,
          presence: this.#presence,
          mirrors: () => this.#mirrors.all(),
          lost: this.#lost,
          answers: this.#answers,
        }),
      ],
    };
  }

  /** Aborts when this machine may not write any more: the daemon must end its sessions and start again. */
  get lost(): AbortSignal {
    return this.#over.signal;
  }

  /** Why the host takes no sessions now; null when it does. */
  get problem(): string | null {
    return this.#engine.isConnected ? null : "The cluster's servers cannot be reached.";
  }

  /** Takes part from now on, with a host that was made with {@link Cluster.seams}. */
  async serve(host: Host): Promise<void> {
    const { settings: { name: machine }, writeLog } = this.#options;
    this.#host = host;
    const own = { session: async (id: string) => await this.#own?.session(id) ?? null };
    const answers = machineAnswers({ host, own, diffs: this.#diffs, shares: this.#shares });
    this.#undo.push(answerCalls(this.#engine, { machine, answers }));
    await patiently("join the cluster", () => this.#mirrors.look());
    this.#presence.start();
    this.#serving = Promise.all([
      this.#answers.deliver({ machine, sessions: host.sessions, writeLog, signal: this.#closing.signal }),
      this.#mirrors.keepLooking(this.#closing.signal),
      this.#diffs.follow(host, this.#closing.signal),
      this.#hearing,
      this.#notes.follow(this.#closing.signal),
      this.#queue.serve(host, { signal: this.#pausing.signal, closing: this.#closing.signal }),
    ]);
  }

  /** Short facts that all machines have. */
  get notes(): SharedNotes {
    return this.#notes;
  }

  /** Returns the sessions of all machines. The host lists and opens them; it starts and streams its own alone. */
  sessions(own: SessionHost): SessionHost {
    const { name: machine } = this.#options.settings;
    const onMirror = (callback: () => void) => this.#mirrors.watch(callback);
    const newest = () => this.#own?.lastGseq ?? 0;
    const deps = { machine, own, newest, mirrors: () => this.#mirrors.all(), onMirror };
    const carry: ClusterStartsDeps["carry"] = async (parts, { machine: to, caller }) => {
      if (parts.length === 0) return;
      if (to !== undefined && to !== machine) demandCarrier(this.#presence.present(to));
      await this.#host?.carried.carry(parts, omitUndefined(caller));
    };
    const starts = new ClusterStarts({
      own,
      notes: this.#notes,
      queue: this.#queue,
      facts: () => this.#facts(),
      agents: () => this.#agents.look(),
      recordOf: (id) => this.#recordOf(id),
      isOver: (run) => this.#isOver(run),
      keyMs: () => this.#limits.idempotency_ms,
      carry,
      problem: async () => await this.#engine.isSoonConnected() ? null : this.problem,
      signal: this.#closing.signal,
    });
    this.#notes.watch({ heard: (note) => starts.hear(note) });
    return {
      ...own,
      start: (request, options) => starts.start(request, options),
      events: (query = {}) => mergedEvents(deps, query),
      conversations: clusterConversations(own, { engine: this.#engine, mirrors: () => this.#mirrors.all(), carry }),
    };
  }

  /** Returns the worktrees of all machines. */
  workspaces(own: OwnWorkspaces): HostWorkspaces {
    const mirrors = () => this.#mirrors.all();
    return clusterWorkspaces(own, { engine: this.#engine, presence: this.#presence, mirrors, diffs: this.#diffs });
  }

  /** Describes the cluster as this machine sees it. */
  status(): Promise<ClusterStatus> {
    return clusterStatus(this.#view());
  }

  /** Returns the counters and gauges of this machine's part. */
  signals(): Signal[] {
    return clusterSignals({ ...this.#view(), silentMs: this.#options.settings.silent_ms });
  }

  #view(): ClusterStatusDeps {
    return {
      settings: this.#options.settings,
      engine: this.#engine,
      log: this.#log,
      facts: this.#facts(),
      heard: this.#presence.heard(),
      mirrors: this.#mirrors.all(),
      waiting: this.#queue.size,
      shares: this.#shares,
      hostSessions: this.#limits.host_sessions,
    };
  }

  /** Says goodbye: the host takes no more sessions, and those that run go on. */
  leave(): void {
    this.#pausing.abort();
    this.#presence.speak();
  }

  /** Ends this machine's part; after its host is closed. */
  async close(): Promise<void> {
    this.#pausing.abort();
    await within(this.#shares.giveBackSpare().catch(() => 0), spareMs);
    this.#shares.close();
    this.#closing.abort();
    this.#presence.stop();
    for (const undo of this.#undo.splice(0).reverse()) undo();
    await this.#engine.close();
    await this.#serving.catch(() => undefined);
    await this.#mirrors.close();
  }

  #facts(): MachineFacts {
    const { settings: { name, labels } } = this.#options;
    const { seq, gseq } = this.#log?.position ?? { seq: 0, gseq: 0 };
    return {
      name,
      run: this.#run,
      version: hostVersion,
      runtime: runtimeVersion,
      started_at: this.#startedAt,
      said_at: new Date().toISOString(),
      labels,
      agents: this.#agents.last,
      sessions: this.#shares.used,
      slots: Math.min(this.#options.settings.slots ?? Infinity, this.#limits.host_sessions),
      seq,
      gseq,
      copies: Object.fromEntries(this.#mirrors.all().map(({ machine, journal }) => [machine, journal.lastGseq])),
      attachments: true,
      leaving: this.#pausing.signal.aborted,
      gone: false,
    };
  }

  /** Continues a session of a lost machine here, where that can be done. */
  #resume(resumable: Resumable): Promise<AfterRestart> {
    const { name: machine, shared_folders: sharedFolders } = this.#options.settings;
    return resumeHere(resumable, {
      host: this.#host,
      notes: this.#notes,
      repositories: this.#repositories,
      sharedFolders,
      isKnown: (id) => this.#isKnown(id),
      own: { machine, run: this.#run },
      isThere: (run) => this.#presence.present(run.machine)?.run === run.run,
    });
  }

  /** Asks the other machines for the slots that they do not use; returns the numbers of the notes that report it. */
  #askForSpare(): Promise<number[]> {
    const asked = { name: "spare", ask: {}, timeoutMs: spareMs } as const;
    const askOne = ({ name: machine }: MachineFacts) => callMachine(this.#engine, { machine, ...asked }).catch(() => 0);
    return Promise.all(this.#presence.others().map(askOne));
  }

  async #isKnown(sessionId: string): Promise<boolean> {
    return await this.#recordOf(sessionId) !== null;
  }

  async #recordOf(sessionId: string): Promise<SessionRecord | null> {
    return await this.#own?.session(sessionId) ?? await this.#mirrors.record(sessionId);
  }

  async #isOver(run: RunOf): Promise<boolean> {
    const { name: machine, silent_ms: silentMs } = this.#options.settings;
    return await isRunOver(run, {
      engine: this.#engine,
      own: { machine, run: this.#run },
      silentMs,
      presence: this.#presence,
      mirror: (other) => this.#mirrors.get(other),
      lost: this.#lost,
    });
  }

  get #limits(): ReturnType<Host["limits"]> {
    return this.#host?.limits() ?? defaultLimits;
  }

  #refuseDouble(startedAt: string): void {
    // The younger one goes.
    if (this.#startedAt < startedAt) return;
    this.#over.abort(
      new BulkheadError("busy", `Another machine of the cluster has the name "${this.#options.settings.name}".`, {
        hint: "Give each machine its own cluster.name in bulkhead.yaml.",
      }),
    );
  }
}

function connectionRecord(connected: boolean, engine: Pick<Engine, "server">): LogRecord {
  return connected
    ? { level: "info", message: `The cluster's servers are back, at ${engine.server.address}.` }
    : { level: "warn", message: "The cluster's servers cannot be reached: sessions wait until they are back." };
}
