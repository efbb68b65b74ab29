import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { HostWorkspaces } from "../../sessions/host/workspaces.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import type { NewGrant } from "../../packages/registry/edit-host-manifest.ts";
import type { RegistryChanges } from "../../packages/registry/registry.ts";
import type { PluginFacts } from "./plugin-facts.ts";
import type { SessionOwners } from "./session-owners.ts";
import type { TokenStore } from "./tokens.ts";

/** Limits of the door. */
export type HttpLimits = Pick<Limits, Extract<keyof Limits, `http_${string}`> | "message_depth">;

/** Whether the host takes sessions. */
export interface Readiness {
  ready: boolean;
  /** One sentence: why not. */
  reason?: string;
}

/** Changes of a reload. */
export interface ReloadChanges extends RegistryChanges {
  /** Settings that changed in the file and take effect only after a restart, by their path. */
  restart_needed: string[];
}

/** Collaborators of the door besides the host's sessions. */
export interface HostFacts {
  plugins: PluginFacts;
  workspaces: HostWorkspaces;
  /**
   * Replaces a plugin's grants and puts them into effect; null removes them.
   * @throws {BulkheadError} `not_found`, `invalid_config`, `unsupported` where there is no host manifest
   */
  setGrants(pluginId: string, grant: Permissions | null): Promise<void>;
  /**
   * Writes one grant more, and puts it into effect.
   * @throws {BulkheadError} as {@link HostFacts.setGrants}
   */
  addGrant(grant: NewGrant): Promise<void>;
  /**
   * Puts the host manifest that is there now into force, and tells what changed.
   * @throws {BulkheadError} what is wrong with it; then the old one stays in force. `not_found` where there is none
   */
  reload(): Promise<ReloadChanges>;
  signals(): Signal[];
  readiness(): Readiness;
}

/** Options of {@link openDoor}. */
export interface HttpDoorOptions {
  sessions: SessionHost;
  facts: HostFacts;
  tokens: TokenStore;
  owners: SessionOwners;
  /** Host names with ports that a request over TCP may use: the addresses of the server. */
  hosts(): readonly string[];
  limits: HttpLimits;
  /** Other protocols that are served beside the API, behind the same checks. */
  mounts?: readonly Mount[];
  writeLog?: (record: LogRecord) => void;
}

/** Another protocol on a path of its own. */
export interface Mount {
  path: string;
  /** Answers a request of a caller, whose id `client` is, with the sessions that it may see and handle. */
  handle(request: Request, caller: { client: string; sessions: SessionHost }): Promise<Response>;
}
