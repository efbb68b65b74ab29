import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { MissingGrant, SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { WorkerPlace } from "../../walls/pool/plugin-pool.ts";
import type { Plugin, PluginScript } from "../../packages/registry/plugin.ts";
import type { ApprovalRules } from "./approval-policy.ts";
import type { MergedLog } from "./merged-log.ts";

/** One adapter that may run a session, and all that holds for it alone. */
export interface Candidate {
  plugin: Plugin;
  /** As the adapter gets it: fitted to the plugin, its prompt whole. */
  request: SessionRequest;
  /** How the agent is reached; null where the plugin names no access mode. */
  accessMode: AccessMode | null;
  /** An attempt on it has a worker and enters the adapter. */
  started(): void;
  /** An attempt on it has ended; `tokens` is null where nobody tells, `wait_ms` what a limited agent said. */
  ended(end: { tokens: number | null; error?: ErrorData | undefined; wait_ms: number | null }): void;
  /** Fields of the request that neither adapter nor host can hold the agent to. */
  unenforced: string[];
  effective: Permissions;
  /** The most that a grant given while the session runs could allow. */
  ceiling: Permissions;
  approval: ApprovalRules;
  /** Text of the file that names the session's MCP servers to the agent; null where it has none. */
  mcpConfig: string | null;
  /** Values of the secrets that the session may use, and of those of its MCP servers. */
  secrets: ReadonlyMap<string, string>;
  grantPlace: NonNullable<SessionBrokerOptions["grantPlace"]>;
  /** Values of the request's `env`, all of granted names. */
  requestEnv: Record<string, string>;
  dataDir: string;
  script(): Promise<PluginScript>;
  acquire(options: { signal: AbortSignal; onQueued(position: number, waitMs: number): void }): Promise<WorkerPlace>;
  writeLog: SessionBrokerOptions["writeLog"];
}

/** The session that another goes on with, and how many have done so, this one included. */
export interface Resumed {
  from: string;
  times: number;
}

/** All that one session is run with; everything in it is checked. */
export interface SessionSetup {
  sessionId: string;
  /** As it was asked for. */
  request: SessionRequest;
  /** Which session's agent it goes on with; null for one of its own. */
  resumed: Resumed | null;
  /** In the order in which they are tried. */
  candidates: readonly [Candidate, ...Candidate[]];
  /** Adapters that were asked for and cannot run it, with the reason. */
  passedOver: { adapter_id: string; reason: string }[];
  /** Real absolute path of the working directory. */
  workdir: string;
  /** Top of the session's own worktree; null for a session that works in place. */
  workspaceDir: string | null;
  /** Puts a worktree back as it was; null for a session that works in place. */
  resetWorkdir: (() => Promise<void>) | null;
  /** Takes the secrets of all candidates out of all that is said; null when there are none. */
  redactor: Redactor | null;
  /** Real absolute paths that no snapshot copies. */
  secretPaths: readonly string[];
  artifacts: "git" | "none";
  /** Ids of the sessions that were at work in the same folder meanwhile. */
  sharedWith(): Promise<string[]>;
  /** The signal by which an agent says that its whole task is done; null where it was not told of one. */
  loopSignal: string | null;
  /** How long a request or question waits for a client; 0: nobody is there. */
  answerTimeoutMs: number;
  /** Where sessions keep what goes with them. */
  scratchDir: string;
  /** Real absolute path that never holds artifacts: the host's own state. */
  stateDir: string;
  /** What no grant opens. */
  guarded: Pick<SessionBrokerOptions, "protectedPaths" | "sealedPaths" | "pluginPlaces" | "autoexecNames">;
  log: MergedLog;
  hostVersion: string;
  makeBroker(options: SessionBrokerOptions): SessionBroker;
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
}
