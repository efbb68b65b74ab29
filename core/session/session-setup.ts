import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { MissingGrant, SessionBroker, SessionBrokerOptions } from "../broker/session-broker.ts";
import type { Redactor } from "../log/redact.ts";
import type { Place } from "../pool/plugin-pool.ts";
import type { Plugin, PluginScript } from "../registry/plugin.ts";
import type { MergedLog } from "./merged-log.ts";

/** All that one session is run with; everything in it is checked. */
export interface SessionSetup {
  sessionId: string;
  plugin: Plugin;
  request: SessionRequest;
  /** Real absolute path of the working directory. */
  workdir: string;
  effective: Permissions;
  /** The most that a grant given while the session runs could allow. */
  ceiling: Permissions;
  /** Values of the secrets that the session may use, and what takes them out of all it says; null when there are none. */
  secrets: ReadonlyMap<string, string>;
  redactor: Redactor | null;
  /** Real absolute paths that no snapshot copies. */
  secretPaths: readonly string[];
  grantPlace: NonNullable<SessionBrokerOptions["grantPlace"]>;
  /** Values of the request's `env`, all of granted names. */
  requestEnv: Record<string, string>;
  artifacts: "git" | "none";
  /** Where sessions keep what goes with them. */
  scratchDir: string;
  dataDir: string;
  /** Real absolute path that never holds artifacts: the host's own state. */
  stateDir: string;
  /** What no grant opens. */
  guarded: Pick<SessionBrokerOptions, "protectedPaths" | "sealedPaths" | "autoexecNames">;
  log: MergedLog;
  hostVersion: string;
  script(): Promise<PluginScript>;
  acquire(options: { signal: AbortSignal; onQueued(position: number, waitMs: number): void }): Promise<Place>;
  makeBroker(options: SessionBrokerOptions): SessionBroker;
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  writeLog: SessionBrokerOptions["writeLog"];
}
