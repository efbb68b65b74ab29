import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ClusterStatus } from "../../../plugin-sdk/cluster-status.ts";
import type { ClusterSettings } from "../../ground/config/cluster-settings.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { mkdir } from "../../ground/runtime/files.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { isInside, join } from "../../ground/runtime/paths.ts";
import { wait } from "../../ground/runtime/wait.ts";
import { runtimeVersion } from "../../ground/runtime/platform.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { AfterRestart, Resumable } from "../../sessions/session/interrupted-session.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { HostWorkspaces } from "../../sessions/host/workspaces.ts";
import type { HostSeams } from "../../sessions/host/host-seams.ts";
import type { SecretOf } from "../engine/connect.ts";
import { Engine } from "../engine/engine.ts";
import { patiently } from "../engine/patiently.ts";
import type { MachineLog } from "../log/machine-log.ts";
import { Mirror } from "../log/mirror.ts";
import { takeOwnLog } from "../log/take-log.ts";
import { answerCalls } from "./calls.ts";
import { machineAnswers } from "./machine-answers.ts";
import { ClusterStarts } from "./cluster-starts.ts";
import { clusterSessionHost } from "./cluster-session-host.ts";
import { clusterWorkspaces } from "./cluster-workspaces.ts";
import { clusterSignals, clusterStatus } from "./cluster-status.ts";
import { ClusterSessions } from "./cluster-sessions.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { LostMachines } from "./lost-machines.ts";
import { type MachineFacts, offered } from "./machine-facts.ts";
import { mergedEvents } from "./merged-events.ts";
import { Presence } from "./presence.ts";
import { Repositories } from "./repositories.ts";
import { SharedDiffs } from "./shared-diffs.ts";
import { SharedNotes } from "./shared-notes.ts";
import { WorkQueue } from "./work-queue.ts";

/** Options of {@link Cluster.join}. */
export interface JoinOptions {
  settings: ClusterSettings;
  /** Folder of the daemon's state. */
  stateDir: string;
  /** Folder of the clones of repositories. */
  repositoriesDir: string;
  secretOf: SecretOf;
  writeLog(record: LogRecord): void;
}

/** How often a machine looks for logs of others that it has not heard. Milliseconds. */
const lookMs = 5000;

/** This machine's part in a cluster: from before its host is made until after it is closed. */
export class Cluster {
  readonly #options: JoinOptions;
  readonly #engine: Engine;
  readonly #presence: Presence;
  readonly #mirrors = new Map<string, Promise<Mirror>>();
  readonly #open = new Map<string, Mirror>();
  readonly #mirrorWatchers = new Set<() => void>();
  readonly #lost: LostMachines;
  readonly #answers: KeptAnswers;
  readonly #diffs: SharedDiffs;
  readonly #notes: SharedNotes;
  readonly #queue: WorkQueue;
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
  #serving: Promise<unknown> = Promise.resolve();

  /** @throws {BulkheadError} `unavailable`, `unauthorized`, `invalid_config` */
  static async join(options: JoinOptions): Promise<Cluster> {
    const engine = await Engine.open(options.settings, options.secretOf);
    const cluster = new Cluster(options, engine);
    try {
      await mkdir(join(options.stateDir, "cluster"), { recursive: true, mode: 0o700 });
      await Promise.all([cluster.#answers.open(), cluster.#notes.open(), cluster.#queue.open()]);
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
    this.#notes = new SharedNotes(engine);
    this.#queue = new WorkQueue({
      engine,
      notes: this.#notes,
      repositories: new Repositories(options.repositoriesDir),
      facts: () => this.#facts(),
      isKnown: (id) => this.#isKnown(id),
      isPresent: (machine) => machine === name || this.#presence.present(machine) !== null,
      writeLog,
    });
    this.#diffs = new SharedDiffs(engine, () => this.#host?.workspaces ?? null);
    this.#presence = new Presence({
      engine,
      name,
      heartbeatMs,
      silentMs,
      facts: () => this.#facts(),
      onHeard: (machine) => void this.#mirror(machine),
      onSilent: (machine) => void this.#lost.end(machine),
      onDouble: ({ started_at }) => this.#refuseDouble(started_at),
    });
    this.#lost = new LostMachines({
      engine,
      name,
      silentMs,
      presence: this.#presence,
      mirror: (machine) => this.#open.get(machine),
      resume: () => this.#resume,
      writeLog,
    });
    this.#undo.push(engine.onConnection((connected) =>
      writeLog(
        connected
          ? { level: "info", message: `The cluster's servers are back, at ${engine.server.address}.` }
          : { level: "warn", message: "The cluster's servers cannot be reached: sessions wait until they are back." },
      )
    ));
  }

  /** Places in which the host takes part in the cluster. */
  get seams(): HostSeams {
    const { settings: { name: machine }, writeLog } = this.#options;
    return {
      openJournal: async (file, open) => {
        const { journal, log } = await takeOwnLog({ engine: this.#engine, machine, file, open, writeLog });
        this.#log = log;
        this.#own = journal;
        const lose = () => this.#over.abort(log.lost.reason);
        if (log.lost.aborted) lose();
        else log.lost.addEventListener("abort", lose, { once: true });
        return journal;
      },
      others: [
        new ClusterSessions({
          engine: this.#engine,
          presence: this.#presence,
          mirrors: () => [...this.#open.values()],
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
    this.#undo.push(answerCalls(this.#engine, { machine, answers: machineAnswers(host, this.#diffs) }));
    await patiently("join the cluster", () => this.#lookForLogs());
    this.#presence.start();
    this.#serving = Promise.all([
      this.#answers.deliver({ machine, sessions: host.sessions, writeLog, signal: this.#closing.signal }),
      this.#keepLooking(),
      this.#keepDiffs(host),
      this.#notes.follow(this.#closing.signal),
      this.#queue.serve(host, this.#pausing.signal),
    ]);
  }

  /** Short facts that all machines have. */
  get notes(): SharedNotes {
    return this.#notes;
  }

  /** Returns the sessions of all machines. */
  sessions(own: SessionHost): SessionHost {
    const { name: machine } = this.#options.settings;
    const onMirror = (callback: () => void) => {
      this.#mirrorWatchers.add(callback);
      return () => this.#mirrorWatchers.delete(callback);
    };
    const newest = () => this.#own?.lastGseq ?? 0;
    const deps = { machine, own, newest, mirrors: () => [...this.#open.values()], onMirror };
    const starts = new ClusterStarts({
      own,
      notes: this.#notes,
      queue: this.#queue,
      facts: () => this.#facts(),
      isKnown: (id) => this.#isKnown(id),
      signal: this.#closing.signal,
    });
    this.#notes.watch((note) => starts.hear(note));
    return clusterSessionHost(own, {
      start: (request, options) => starts.start(request, options),
      events: (query = {}) => mergedEvents(deps, query),
    });
  }

  /** Returns the worktrees of all machines. */
  workspaces(own: HostWorkspaces): HostWorkspaces {
    const mirrors = () => [...this.#open.values()];
    return clusterWorkspaces(own, { engine: this.#engine, presence: this.#presence, mirrors, diffs: this.#diffs });
  }

  /** Describes the cluster as this machine sees it. */
  status(): Promise<ClusterStatus> {
    const { settings } = this.#options;
    return clusterStatus({
      settings,
      engine: this.#engine,
      log: this.#log,
      facts: this.#facts(),
      heard: this.#presence.heard(),
      mirrors: [...this.#open.values()],
    });
  }

  /** Returns the counters and gauges of this machine's part. */
  signals(): Signal[] {
    return clusterSignals({
      engine: this.#engine,
      log: this.#log,
      heard: this.#presence.heard(),
      mirrors: [...this.#open.values()],
      silentMs: this.#options.settings.silent_ms,
    });
  }

  /** Says goodbye: the host takes no more sessions, and those that run go on. */
  leave(): void {
    this.#pausing.abort();
    this.#presence.stop();
  }

  /** Ends this machine's part; after its host is closed. */
  async close(): Promise<void> {
    this.#pausing.abort();
    this.#closing.abort();
    this.#presence.stop();
    for (const undo of this.#undo.splice(0).reverse()) undo();
    await this.#engine.close();
    await this.#serving.catch(() => undefined);
    const mirrors = await Promise.allSettled(this.#mirrors.values());
    await Promise.all(mirrors.map((opened) => opened.status === "fulfilled" ? opened.value.close() : undefined));
  }

  #facts(): MachineFacts {
    const { settings: { name, labels } } = this.#options;
    const host = this.#host;
    const { seq, gseq } = this.#log?.position ?? { seq: 0, gseq: 0 };
    return {
      name,
      run: this.#run,
      version: hostVersion,
      runtime: runtimeVersion,
      started_at: this.#startedAt,
      said_at: new Date().toISOString(),
      labels,
      agents: host?.registry.list().filter(({ enabled }) => enabled).map(offered) ?? [],
      ...host?.capacity() ?? { sessions: 0, host_sessions: 0 },
      seq,
      gseq,
      copies: Object.fromEntries([...this.#open].map(([machine, { journal }]) => [machine, journal.lastGseq])),
      leaving: false,
    };
  }

  /** Goes on with a session of a lost machine, if its work can be reached here: once only, on one machine. */
  readonly #resume = async (resumable: Resumable): Promise<AfterRestart> => {
    const { session_id, request: { workdir } } = resumable;
    const { shared_folders } = this.#options.settings;
    if (this.#host === null || !shared_folders.some((folder) => isInside(folder, workdir))) {
      return { reason: "its folder is not one that the machines share" };
    }
    const sessionId = randomId();
    const claimed = await this.#notes.claim({ name: `resume-${session_id}`, text: sessionId }, null);
    if (claimed !== sessionId && await this.#isKnown(claimed)) return { resumed_as: claimed };
    return await this.#host.resumeLost(resumable, { sessionId: claimed });
  };

  async #isKnown(sessionId: string): Promise<boolean> {
    const journals = [this.#own, ...[...this.#open.values()].map(({ journal }) => journal)];
    for (const journal of journals) if (journal !== null && await journal.session(sessionId) !== null) return true;
    return false;
  }

  async #mirror(machine: string): Promise<void> {
    const { settings, stateDir, writeLog } = this.#options;
    if (machine === settings.name || this.#mirrors.has(machine) || this.#closing.signal.aborted) return;
    const folder = join(stateDir, "cluster", machine);
    const opening = mkdir(folder, { recursive: true, mode: 0o700 }).then(() =>
      Mirror.open({ engine: this.#engine, machine, file: join(folder, "journal.db"), writeLog })
    );
    this.#mirrors.set(machine, opening);
    try {
      this.#open.set(machine, await opening);
      for (const watcher of this.#mirrorWatchers) watcher();
    } catch (error) {
      this.#mirrors.delete(machine);
      writeLog({ level: "error", message: `Cannot keep a copy of the log of "${machine}": ${String(error)}` });
    }
  }

  async #lookForLogs(): Promise<void> {
    const { names } = this.#engine;
    for (const { name } of await this.#engine.logs()) {
      const machine = names.machineOf(name);
      if (machine === null || machine === this.#options.settings.name) continue;
      this.#presence.expect(machine);
      await this.#mirror(machine);
    }
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await wait(lookMs, signal);
      if (!signal.aborted) await this.#lookForLogs().catch(() => undefined);
    }
  }

  /** Keeps the diffs of worktrees whose sessions end, for when this machine is gone. */
  async #keepDiffs(host: Host): Promise<void> {
    for await (const { session_id, event } of host.events({ signal: this.#closing.signal })) {
      if (event.type !== "session_ended" || event.result.artifacts?.length === 0) continue;
      // A session that worked in place has none.
      await this.#diffs.keep(session_id).catch(() => undefined);
    }
  }

  #refuseDouble(startedAt: string): void {
    const { name } = this.#options.settings;
    // The younger one goes.
    if (this.#startedAt < startedAt) return;
    this.#over.abort(
      new BulkheadError("busy", `Another machine of the cluster has the name "${name}".`, {
        hint: "Give each machine its own cluster.name in bulkhead.yaml.",
      }),
    );
  }
}
