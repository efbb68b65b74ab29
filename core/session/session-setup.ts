import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { MissingGrant, SessionBroker, SessionBrokerOptions } from "../broker/session-broker.ts";
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
  /** Values of the request's `env`, all of granted names. */
  requestEnv: Record<string, string>;
  artifacts: "git" | "none";
  /** Where sessions keep what goes with them. */
  scratchDir: string;
  dataDir: string;
  /** Real absolute path that never holds artifacts: the host's own state. */
  stateDir: string;
  log: MergedLog;
  hostVersion: string;
  script(): Promise<PluginScript>;
  acquire(options: { signal: AbortSignal; onQueued(position: number): void }): Promise<Place>;
  makeBroker(options: SessionBrokerOptions): SessionBroker;
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  writeLog: SessionBrokerOptions["writeLog"];
}
