import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/runtime/child-ledger.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import type { BinaryPins } from "./binary-pins.ts";

/** A permission that was asked for and is not granted. */
export interface MissingGrant {
  plugin_id: string;
  permission: "run" | "read" | "write" | "net" | "env" | "secrets" | "mcp_servers" | "kv";
  target: string;
  /** The exact command line that would grant it. */
  grant_command: string;
}

/** A line of a file. */
export interface GrantPlace {
  file: string;
  line: number;
}

/** What one session's broker is made from. */
export interface SessionBrokerOptions {
  sessionId: string;
  pluginId: string;
  /** Real absolute paths. */
  workdir: string;
  pluginDir: string;
  /** The plugin's own durable folder, made on first use. */
  dataDir: string;
  /** The session's own folder, made on first use and removed at the end. */
  tempDir: string;
  /** Effective permissions; nothing outside them is done. */
  permissions: Permissions;
  /** Environment values of the request, already narrowed to granted names. */
  requestEnv: Record<string, string>;
  /** Values of the secrets that the session may use, by name. */
  secrets?: ReadonlyMap<string, string>;
  /**
   * Text of the file that names the session's MCP servers to its agent; absent or null where it has none. Only a program
   * that `permissions.mcp_servers` names is handed it.
   */
  mcpConfig?: string | null;
  /** Takes those values out of all that leaves the broker; absent or null when there are none. */
  redactor?: Redactor | null;
  /** Where in the host manifest a grant of this kind stands or would stand; null when there is no such file. */
  grantPlace?(permission: MissingGrant["permission"]): GrantPlace | null;
  /** Where the plugin's programs are pinned; absent: each is looked for when it is started. */
  pins?: BinaryPins | undefined;
  limits: Limits;
  /** Programs get a PID namespace of their own where the machine has one for us; default: no. */
  ownPids?: boolean;
  /** The highest process id that the session's stream has already; default: none. */
  lastProcessId?: number;
  /** Takes the host events that the broker makes. */
  emit(event: HostEvent): void;
  /** Asks a person for a missing grant; absent when nobody can be asked. */
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  /**
   * The most that a grant given now could allow: manifest ∩ request − deny. What is outside is denied without asking.
   * Absent: a person may allow anything, but each time only exactly what was asked for.
   */
  ceiling?: Permissions;
  /** Top of the session's own worktree, which lies in the host's state; absent when it works in place. Real and absolute. */
  workspaceDir?: string | undefined;
  /** Real absolute paths that no permission opens: the host's own state. Data folder and worktree inside stay open. */
  protectedPaths?: readonly string[];
  /** Real absolute paths that are never written: the packages of plugins. */
  sealedPaths?: readonly string[];
  /**
   * The roots for writing that the operator's own grant names, as they are written. Below them, and not below those of
   * manifest and request, what programs act on by themselves is meant.
   */
  spelledRoots?: Permissions["write"];
  /** Real absolute paths of the folders in which this host looks for plugins: written only where the grant names them. */
  pluginPlaces?: readonly string[];
  /** Names of files and folders, beside the built-in ones, that programs act on by themselves; never written. */
  autoexecNames?: readonly string[];
  /** Where child processes are written down, so that they are found when the host is killed. */
  children?: ChildLedger;
  /** Takes the adapter's log records, already capped and cleaned. */
  writeLog(record: { level: "debug" | "info" | "warn" | "error"; message: string; fields: unknown }): void;
  /** Waits for the client's answer to a permission request or question of this session. */
  waitForAnswer(kind: "permission" | "question", requestId: string): Promise<string | null>;
}

/** All authority of one session. */
export interface SessionBroker {
  /**
   * Does one operation.
   * @throws {BulkheadError} typed; `permission_denied` for what is not granted, `invalid_request` for bad arguments
   */
  call(operation: string, args: unknown): Promise<unknown>;
  /** How often permissions were used and refused, so far. */
  readonly uses: PermissionUses;
  /** Kills every child with its whole tree, closes every stream, removes the temp folder. Never throws. */
  close(): Promise<void>;
}
