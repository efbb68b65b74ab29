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

/** A grant as it is typed. */
export interface WantedGrant {
  permission: string;
  target: string;
}

/** One refusal of the broker, as `GET /v1/denials` lists it. */
export interface Denial extends Omit<BrokerCall, "gseq" | "decision"> {
  reason: string;
  grant_command: string | null;
  /** How it stands now, and the grants that would allow it. */
  now: "allowed" | "grantable" | "refused";
  grants: WantedGrant[];
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
  /** Calls of a program whose arguments decide. */
  unclear: number;
  /** Calls of those allowed that were denied when they were made. */
  newly_allowed: number;
  searched: number;
  examples: (Omit<BrokerCall, "adapter_id" | "gseq" | "decision"> & { decision: "allowed" | "refused" | "unclear" })[];
  /** Rows of the plugin's permissions that the grant would allow, or allow more of. */
  allows: WantedGrant[];
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
