import type { ClusterStatus } from "../../../plugin-sdk/cluster-status.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { PutAside } from "./put-aside.ts";
import type { HistoryIndex } from "../../records/history/history-index.ts";
import type { ChainReport } from "../../records/journal/verify-journal.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { HostWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import type { NewGrant } from "../../packages/manifest/edit-host-manifest.ts";
import type { GrantReplacement } from "../../packages/manifest/edit-plugin-entry.ts";
import type { RegistryChanges } from "../../packages/registry/registry.ts";
import type { PluginFacts } from "./plugin-facts.ts";
import type { SessionOwners } from "./session-owners.ts";
import type { TokenStore } from "./tokens.ts";

/** Limits of the door. */
export type HttpLimits = Pick<Limits, Extract<keyof Limits, `http_${string}`> | "message_depth">;

/** Whether the host takes sessions. */
export interface Readiness {
  ready: boolean;
  /** A clause: why the host takes no sessions. */
  reason?: string;
  /** Whether it will take none any more. */
  isClosing?: boolean;
}

/** Changes of a reload. */
export interface ReloadChanges extends RegistryChanges {
  /** Changed settings that take effect only after a restart, by their path. */
  restart_needed: string[];
}

/** Operations of the host that the door uses, besides its sessions. */
export interface HostFacts {
  plugins: PluginFacts;
  workspaces: HostWorkspaces;
  history: Pick<HistoryIndex, "ask">;
  /** Things that wait and that a person put off. */
  aside: PutAside;
  /** As `Host.verify`. */
  verify(): Promise<ChainReport>;
  /**
   * Replaces a plugin's grants in the host manifest and puts them into effect; null: removes them all.
   * @throws {BulkheadError} `not_found`, `invalid_config`, `unsupported` where there is no host manifest
   */
  setGrants(pluginId: string, grant: Permissions | null): Promise<void>;
  /**
   * Adds one grant and puts it into effect.
   * @throws {BulkheadError} as {@link HostFacts.setGrants}
   */
  addGrant(grant: NewGrant): Promise<void>;
  /**
   * Replaces one grant, or takes it back, in one edit, and puts that into effect.
   * @throws {BulkheadError} as {@link HostFacts.setGrants}; `conflict` when no grant has that name
   */
  replaceGrant(replacement: GrantReplacement): Promise<void>;
  /**
   * Reloads the host manifest, and returns the changes.
   * @throws {BulkheadError} the manifest's error; then the old one stays in force. `not_found` where there is none
   */
  reload(): Promise<ReloadChanges>;
  signals(): Signal[];
  /** Returns the cluster as this machine sees it; null for a host that is alone. */
  cluster(): Promise<ClusterStatus | null>;
  readiness(): Promise<Readiness>;
}

/** Options of `createHttpDoor`. */
export interface HttpDoorOptions {
  sessions: SessionHost;
  facts: HostFacts;
  tokens: TokenStore;
  owners: SessionOwners;
  /** Hosts that a request over TCP may name, each with the port: the addresses where the server listens. */
  hosts(): readonly string[];
  limits: HttpLimits;
  /** Answers requests for pages, which need no token; null for other paths. Absent: no pages. */
  pages?: (request: Request) => Promise<Response | null>;
  /** Other protocols to serve beside the API, behind the same checks. */
  mounts?: readonly Mount[];
  writeLog?: (record: LogRecord) => void;
}

/** Another protocol with its own path. */
export interface Mount {
  path: string;
  /** Answers a caller's request; `client` is the caller's id, the rest holds the sessions that it may see and control. */
  handle(
    request: Request,
    caller: { client: string; sessions: SessionHost; workspaces: HostWorkspaces },
  ): Promise<Response>;
}
