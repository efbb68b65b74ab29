import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { StoredAttachment } from "../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { ListedFacts, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { BinaryPin, CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import type { AskGrant, MissingGrant } from "../../walls/broker/session-broker.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { Cursor } from "../../records/journal/journal.ts";
import type { HistoryIndex } from "../../records/history/history-index.ts";
import type { ChainReport } from "../../records/journal/verify-journal.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { LoopReport } from "./run-loop.ts";
import type { LoadReport } from "./served-plugin.ts";
import type { RegistryChanges, RegistryProblem } from "../../packages/registry/registry.ts";
import type { RegistrySettings } from "../../packages/registry/settle-plugin.ts";
import type { Route } from "../routing/choose-route.ts";
import type { AgentsOptions, RouteOptions } from "./routes.ts";
import type { RecordOptions, RecordReport } from "./state/record.ts";
import type { RunSessionOptions, SessionHandle, SessionHost } from "./session-host.ts";
import type { OwnWorkspaces } from "./state/workspaces.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { StateProblem } from "../../ground/platform/state/state-health.ts";
import type { CarriedAttachments } from "./attachments/carried-attachments.ts";
import type { ResumeLost } from "./resume.ts";
import type { Comparison } from "./compare-results.ts";
import type { PassedOverAdapter } from "../session/admitted.ts";

/** Options of `createHost()`. */
export interface HostOptions {
  /** A parsed host manifest, as `loadHostManifest()` returns it. Absent: only registered plugins are enabled. */
  manifest?: HostManifest | undefined;
  /** Folder of `plugins/` and of relative paths; default: the manifest's folder, else the working directory. */
  root?: string | undefined;
  /** Folder for the journal and all other state; default: XDG state. `null`: a temporary one, deleted with the host. */
  stateDir?: string | null | undefined;
  /** File of the secrets that `bulkhead secret set` keeps; default: below the XDG data folder. */
  secretsFile?: string | undefined;
  /**
   * A session will follow at once: the host boots a warden for it during its own start. It serves the first plugin that
   * has no limits of its own, and ends with the host if no such session starts.
   */
  warm?: boolean | undefined;
  /**
   * Several hosts may use one state folder, each with its own journal. With this option the host takes the first
   * journal, which the next host continues, or fails with `busy`: for a host that serves clients for long. Default
   * false.
   */
  onlyFirst?: boolean | undefined;
  /** Name of the program, such as `bulkhead run`, for those who must wait until it gives back the state folder. */
  program?: string | undefined;
  /** Folder of the bundled plugins; `null`: none. Default: the package's own. */
  bundledDir?: string | null | undefined;
  /**
   * This host runs for long: when it starts, it resumes the sessions that an earlier host left open and whose request
   * says `resume: after_restart`. Default: those sessions only end.
   */
  resume?: boolean | undefined;
  /** Longest wait for each part when closing, where it differs from the default. Milliseconds. */
  closeDeadlines?: Partial<CloseDeadlines> | undefined;
  /** Asks a person for a missing grant. Absent: denied. */
  askGrant?: AskGrant | undefined;
  /** Keeps a client's "never" as a denial in the host manifest, and puts it into force. Absent: it is not offered. */
  keepDenial?: ((denied: MissingGrant) => Promise<void>) | undefined;
  /** Receives the log records of host and adapters. */
  writeLog?: ((record: LogRecord) => void) | undefined;
}

/** A plugin host. */
export interface Host {
  readonly registry: {
    /** Returns every plugin that was found, enabled or not. */
    list(): Plugin[];
    get(id: string): Plugin | undefined;
    /** Takes a plugin out of service: its sessions and workers end, and the host forgets it until the next start. */
    remove(id: string): Promise<void>;
    /** Returns the plugins that cannot be used: those that cannot be read, and those whose code could not be loaded. */
    problems(): readonly RegistryProblem[];
    /** Loads a plugin folder at run time, with the same checks. */
    register(folder: string, settings?: RegistrySettings): Promise<Plugin>;
  };
  /**
   * Starts a session. If an earlier request of the same client had the same `idempotency_key`, both must be the same
   * request, and this returns that session with all its events.
   * @throws {BulkheadError} for a request that cannot start: `invalid_request`, `unknown_adapter`, `workdir_missing`,
   * `too_large`, `invalid_model`, `host_closed`
   */
  runSession(request: SessionRequest, options?: RunSessionOptions): Promise<SessionHandle>;
  /**
   * Keeps an image or a file for a request or a message that names it within an hour.
   * @throws {BulkheadError} as `SessionHost.attach`
   */
  attach(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredAttachment>;
  /**
   * Runs one request on several adapters at once, each in its own worktree, and compares the outcomes.
   * @throws {BulkheadError} as {@link Host.runSession}, and as {@link Host.route} when no adapter can take it
   */
  runAll(request: SessionRequest, options?: RunAllOptions): Promise<ParallelRun>;
  /**
   * Runs fresh sessions of a request until the agent signals completion, one fails, or the maximum is reached.
   * @throws {BulkheadError} as {@link Host.runSession}
   */
  runLoop(request: SessionRequest, options?: RunSessionOptions): AsyncGenerator<SessionHandle, LoopReport, void>;
  /**
   * Returns the adapters that could take a session, best first, and why the others cannot.
   * @throws {BulkheadError} when none can: `unknown_adapter`, `unavailable`, `rate_limit`, `invalid_model`,
   * `too_large`, with the reason and the next step for each adapter
   */
  route(options?: RouteOptions): Promise<Route>;
  /**
   * Returns every agent with its availability, reason and next step. The host probes the enabled adapters whose last
   * answer is no longer fresh (`routing.availability_ttl_ms`). Never rejects for what an adapter does.
   */
  agents(options?: AgentsOptions): Promise<AgentReport[]>;
  /** Streams all sessions' events merged, from a cursor on (default: from now), until the signal aborts. */
  events(options?: { after?: Cursor; signal?: AbortSignal }): AsyncIterable<Envelope>;
  /**
   * Loads an adapter behind its walls, without a session.
   * @throws {BulkheadError} why it cannot be loaded: `bundle_failed`, `load_failed`, `adapter_incomplete`…, with the
   * author's own positions in `details.stack`
   */
  load(adapter: string): Promise<LoadReport>;
  /** Returns the ids of plugins whose files have changed since loading: sessions run the loaded code. */
  edited(): Promise<string[]>;
  /**
   * Returns a digest of the code that new sessions of an adapter run, the same for the same files on every machine; null
   * where it cannot be told.
   * @throws {BulkheadError} `unknown_adapter`
   */
  codeOf(adapter: string): Promise<string | null>;
  /** Returns the plugins that crashed too often and stay stopped until they are released, with their crashes. */
  quarantined(): Promise<CrashRecord[]>;
  /** Lifts a plugin's quarantine and forgets its crashes, for all hosts of the state folder; false when it had none. */
  release(id: string): Promise<boolean>;
  /** Returns the pins of a plugin's programs, by name. */
  pinned(id: string): Promise<BinaryPin[]>;
  /**
   * Writes a session that has ended to a file that the `replay` plugin plays back.
   * @param file absolute, or relative to the host's root
   * @throws {BulkheadError} `not_found`, `busy` while it runs, `already_exists`, `io_error`
   */
  record(sessionId: string, file: string, options?: RecordOptions): Promise<RecordReport>;
  /** Questions about all that the journal holds. The index for them is made on the first question. */
  readonly history: Pick<HistoryIndex, "ask">;
  /**
   * Checks every event in this host's journal against the chain that its writer left.
   * @throws {BulkheadError} `journal_error`
   */
  verify(): Promise<ChainReport>;
  /** Worktrees of sessions with `workspace: "worktree"`. */
  readonly workspaces: OwnWorkspaces;
  /**
   * Applies another host manifest: added, removed or newly granted plugins count for sessions that start later; running
   * sessions keep theirs. When it throws, nothing has changed. `state_dir` and `daemon` stay as they are.
   * @throws {BulkheadError} `invalid_config`, `invalid_manifest`, `duplicate_plugin`
   */
  reload(manifest: HostManifest): Promise<RegistryChanges>;
  /** Asks one adapter whether its agent could run now, even if an earlier answer is still fresh. */
  probe(adapter: string): Promise<AvailabilityReport>;
  /**
   * Returns the counters and gauges since this host was made; `toPrometheusText()` writes them for a monitor. Probes no
   * agent: it reports the availability found last.
   */
  signals(): Signal[];
  /** Goes on, here, with a session of a machine of the cluster that was lost. Never rejects. */
  resumeLost: ResumeLost;
  /** Images and files that other machines of a cluster give to this one, and get from it. */
  carried: Pick<CarriedAttachments, "carry" | "bring">;
  /** Returns the limits in force that are not a plugin's own. */
  limits(): Pick<Limits, "host_sessions" | "idempotency_ms">;
  /** Tries whether the state can be written, at most once a second; null where it can. No session starts where it cannot. */
  stateProblem(): Promise<StateProblem | null>;
  /** Returns the requests that this host's own sessions wait for, by session. */
  waiting(): Record<string, WaitingRequest[]>;
  /** Returns what this host's own running sessions do now, by session. */
  facts(): Record<string, ListedFacts>;
  /** Has every session end with its turn and what waits, and resolves when all that started until now have. */
  idle(): Promise<void>;
  /** All sessions, running and ended: the part of a host that doors use. */
  readonly sessions: SessionHost;
  /** Ends all sessions and workers within 30 seconds; what is late is logged and abandoned. */
  close(): Promise<void>;
}

/** Options of {@link Host.runAll}. */
export interface RunAllOptions extends Omit<RunSessionOptions, "adapter"> {
  /** Ids of the adapters; absent: all that are available and have the required capabilities. */
  adapters?: readonly string[];
}

/** Sessions of one request that run at the same time. */
export interface ParallelRun extends AsyncIterable<Envelope> {
  /** In the order of the adapters. */
  readonly sessions: readonly SessionHandle[];
  /** Adapters that could not take the request, and why. */
  readonly passed_over: readonly PassedOverAdapter[];
  /** Comparison of all sessions, once the last has ended. */
  readonly comparison: Promise<Comparison>;
}

/** How long closing a host waits for each of its parts at most. Milliseconds. */
export interface CloseDeadlines {
  /** For sessions to end by themselves once they are told to. */
  sessions: number;
  workers: number;
  /** For the programs of sessions that are still open. */
  programs: number;
  /** For the sessions' ends to be written, and their worktrees to be left. */
  ends: number;
  events: number;
  notices: number;
  telemetry: number;
  counters: number;
  journal: number;
  scripts: number;
  bundler: number;
  scratch: number;
  ledger: number;
  claim: number;
  temporary: number;
}
