import type { ErrorCode, ErrorData } from "./errors.ts";
import type { Manifest } from "./manifest.ts";

/** Real reach of a permission, apart from its name: all that the operator can do, more than it seems, or itself. */
export type Breadth = "everything" | "much" | "bounded";

/** One permission, and whether it is in force. */
export interface ExplainedPermission {
  permission: "run" | "run_env" | "read" | "write" | "net" | "env" | "secrets" | "mcp_servers" | "kv" | "limits";
  /**
   * A program with an argument pattern, a program with a name, a root, `host:port`, a name, a secret with the variable
   * or host that gets it, a program that gets a session's MCP servers, or a limit.
   */
  target: string;
  /** For a permission about a program: the program's name as written. */
  binary?: string;
  requested: boolean;
  granted: boolean;
  denied: boolean;
  /** Targets that are allowed of it; empty: nothing. */
  effective: string[];
  /** One sentence. */
  why: string;
  breadth: Breadth;
  /** One sentence: why it is more than it seems. */
  broad_because?: string;
}

/** Walls around one program of a plugin, for the person who grants it. */
export interface ProgramWalls {
  program: string;
  /** `agent`: a home of its own and granted hosts alone; `workdir`: its writes are held; `none`: it has all your rights. */
  contained: "agent" | "workdir" | "none";
  /** Roots that it may write beside what its walls give it. */
  writes: string[];
  /** Granted paths that it may read beside what its walls give it. */
  reads?: string[];
  /** Agent whose settings it has besides those of its own name. */
  settings_of?: string;
  /** Granted `host:port` pairs that it may call; null: its walls do not limit it. */
  hosts: string[] | null;
  /** Hosts that its manifest asks for and the operator did not grant. */
  hosts_missing: string[];
  /** Hosts that it calls and can do without: a call is denied quietly. */
  hosts_not_needed: string[];
  /** Variables of keys that stay with the host: the program gets a stand-in. */
  keys_kept: string[];
  /** Variables and secrets whose values the program sees. */
  keys_seen: string[];
}

/** An update that waits, in words that can be typed. */
export interface WaitingReport {
  version: string;
  found_at: string;
  /** The grants that it asks for, each as it is typed; empty when all are granted already. */
  asks: string[];
  /** Command that takes it into use, with those grants. */
  command: string;
}

/** One crash of a plugin's worker. */
export interface Crash {
  /** RFC 3339, UTC. */
  at: string;
  code: ErrorCode;
  message: string;
}

/** Record of a plugin's crashes. */
export interface CrashRecord {
  plugin_id: string;
  /** The crashes of the last `quarantine_window_ms`; those that led to the quarantine stay as long as it does. */
  crashes: Crash[];
  /** RFC 3339, UTC; null while it is not in quarantine. */
  quarantined_at: string | null;
}

/** Location of a granted program when it was granted, or first used: a session starts only that file. */
export interface BinaryPin {
  /** Name in the grant. */
  binary: string;
  /** Absolute path where it was found, with links in it unresolved. */
  path: string;
  /** The file after resolving links. */
  real: string;
  /** User id of the file's owner. */
  owner: number;
  /** RFC 3339, UTC. */
  pinned_at: string;
}

/** A plugin in a list, as `bulkhead plugin list --json` prints it. */
export interface PluginReport {
  id: string;
  /** Id of the plugin that it is an instance of; null where it is none. */
  instance_of: string | null;
  name: string;
  version: string;
  description: string;
  adapter_type: string;
  folder: string;
  origin: string;
  enabled: boolean;
  /** The line of the host manifest that blocks it; null: none does. */
  blocked: string | null;
  trusted: boolean;
  isolation: string;
  /** Its files have changed since the host loaded them: sessions run the loaded code until a reload. */
  edited: boolean;
  /** Variables that it reads and the host's environment does not have; none of a disabled one. */
  env_missing: string[];
  quarantine: CrashRecord | null;
  /** An update that was not installed, because it asks for more; null: none waits. */
  waiting_update: WaitingReport | null;
}

/** A plugin that cannot be used. */
export interface PluginProblem {
  id: string;
  folder: string;
  enabled: false;
  /** Whether the host manifest enables it: its sessions are refused with the error. */
  unavailable: boolean;
  error: ErrorData;
}

/** Grants of permissions that the operator has not decided on, to be given at once. */
export interface OpenGrants {
  /** It is one grant, of a key or of what amounts to everything. */
  is_grave: boolean;
  grants: Pick<ExplainedPermission, "permission" | "target">[];
  /** Rows of the permissions that they would allow, or allow more of, beside those that they are for. */
  also_allows: Pick<ExplainedPermission, "permission" | "target">[];
}

/** A plugin with its permissions and the decision about each. */
export interface ExplainedPlugin extends PluginReport {
  manifest: Manifest;
  /** Pins of its programs. */
  pins: BinaryPin[];
  permissions: readonly ExplainedPermission[];
  /** Grants of the permissions that are asked for, and neither granted nor denied. */
  open_grants: readonly OpenGrants[];
  /** The walls around each of its programs. */
  programs: readonly ProgramWalls[];
  /** The options that it declares; null if none. */
  config: Manifest["config"] | null;
  /** Permissions that the waiting update asks for and the operator has not decided about, the riskiest first. */
  waiting_permissions: ExplainedPermission[];
}
