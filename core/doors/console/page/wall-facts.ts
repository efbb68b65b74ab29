/** Permissions as a matrix has them. */
export const permissionNames = [
  "run",
  "run_env",
  "read",
  "write",
  "net",
  "env",
  "secrets",
  "mcp_servers",
  "kv",
] as const;

/** One permission of a plugin and what became of it, as `GET /v1/plugins/{id}` explains it. */
export interface PermissionRow {
  permission: string;
  target: string;
  binary?: string;
  requested: boolean;
  granted: boolean;
  denied: boolean;
  effective: string[];
  why: string;
  breadth: string;
  broad_because?: string;
}

/** A plugin as `GET /v1/plugins/{id}` shows it. */
export interface PluginRow {
  id: string;
  name: string;
  version: string;
  description: string;
  adapter_type: string;
  enabled: boolean;
  blocked: string | null;
  isolation: string;
  quarantine: { quarantined_at: string | null } | null;
  permissions: PermissionRow[];
  programs: {
    program: string;
    contained: string;
    writes: string[];
    reads?: string[];
    hosts: string[] | null;
    hosts_missing: string[];
    keys_kept: string[];
    keys_seen: string[];
  }[];
}

/** One refusal of the broker, as `GET /v1/denials` lists it. */
export interface Denial {
  session_id: string;
  seq: number;
  at: string;
  adapter_id: string;
  permission: string;
  target: string;
  reason?: string | null;
  grant_command?: string | null;
  grantable?: boolean;
}

/** Walls of this machine, as `GET /v1/walls` shows them. */
export interface ActiveWalls {
  walls: { name: string; state: string; text: string }[];
  /** Programs that the broker started and that still run. */
  programs: { session_id: string; plugin_id: string; program: string; pid: number; started_at: string }[];
}

/** Calls that a grant would have changed, as `POST /v1/plugins/{id}/grants/preview` shows it. */
export interface GrantPreview {
  allowed: number;
  refused: number;
  /** Calls of those allowed that were denied when they were made. */
  newly_allowed: number;
  searched: number;
  examples: {
    session_id: string;
    seq: number;
    at: string;
    permission: string;
    target: string;
    decision: "allowed" | "refused";
  }[];
}

/** One decision of the broker, as `GET /v1/calls` lists it. */
export interface BrokerCall {
  session_id: string;
  seq: number;
  gseq: number;
  at: string;
  adapter_id: string;
  permission: string;
  target: string;
  decision: "allowed" | "denied";
}
