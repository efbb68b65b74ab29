import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { ModelEndpoint } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import type { Rights } from "../../packages/permissions/decide.ts";
import type { GitMounts } from "../../records/git/private/git-mounts.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import type { Redactor } from "../../ground/log/redact.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import type { Trash } from "../../ground/platform/files/trash.ts";
import type { AgentNetworks } from "../agent/agent-networks.ts";
import type { ModelPlaces } from "../agent/followed-fetch.ts";
import type { Wire } from "../agent/wire.ts";
import type { BinaryPins } from "./binary-pins.ts";
import type { StandInAddresses } from "./stand-in-addresses.ts";

/** A requested permission that is not granted. */
export interface MissingGrant {
  plugin_id: string;
  permission: "run" | "read" | "write" | "net" | "env" | "secrets" | "mcp_servers" | "kv";
  target: string;
  /** The exact command line that would grant it. */
  grant_command: string;
}

/** Asks for a missing grant. The signal withdraws the question, which is then answered with no. */
export type AskGrant = (missing: MissingGrant, signal: AbortSignal) => Promise<boolean>;

/** A line of a file. */
export interface GrantPlace {
  file: string;
  line: number;
}

/** An image or a file of the session's request or messages. */
export interface AttachedFile {
  bytes: Uint8Array;
  /** A name for its copy: one file's, by which a program knows its type. */
  name: string;
}

/** Options of one session's broker. */
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
  /** Decides each call; the broker does nothing that it does not allow. */
  rights: Rights;
  /** Permissions that are allowed as a whole, for views of programs, messages and limits. They decide no call. */
  permissions: Permissions;
  /** Environment values of the request, already narrowed to granted names. */
  requestEnv: Record<string, string>;
  /** Values of the secrets that the session may use, by name. */
  secrets?: ReadonlyMap<string, string> | undefined;
  /**
   * Text of the file that names the session's MCP servers to its agent; absent or null where it has none. Only a
   * program that `permissions.mcp_servers` names gets it.
   */
  mcpConfig?: string | null | undefined;
  /** Redacts those values in everything that leaves the broker; absent or null when there are none. */
  redactor?: Redactor | null | undefined;
  /** Position of a grant of this kind in the host manifest, existing or new; null when there is no such file. */
  grantPlace?(permission: MissingGrant["permission"]): GrantPlace | null;
  /** Pins of the plugin's programs; absent: each one is searched at every start. */
  pins?: BinaryPins | undefined;
  /** How to install programs, by name, as the plugin's manifest has it. */
  install?: Readonly<Record<string, string>> | undefined;
  limits: Limits;
  /** Gives programs their own PID namespace where the machine supports it; default: no. */
  ownPids?: boolean | undefined;
  /** Contains programs whose permission says nothing else; default: no. */
  containPrograms?: boolean | undefined;
  /**
   * `host:port` pairs that contained programs may reach; absent: they have no network, and no way to ask for one. The
   * operator alone decides about them: which hosts an agent needs is nothing that a manifest can know.
   */
  programNet?: readonly string[] | undefined;
  /** `host:port` pairs that contained programs are refused without a question; default: none. */
  refusedNet?: {
    /** The operator denies them now: a denial holds at once. */
    denied?(): readonly string[];
    /** Programs call them and can do without: told quietly, unless a tool runs that may want them. */
    housekeeping?: readonly string[];
    toolRuns?(): boolean;
  };
  /** Paths that contained programs may read besides; default: none. The operator alone decides about them too. */
  programRead?: readonly string[] | undefined;
  /** Agent whose settings contained programs have besides those of their own name; absent: none. The operator alone names it. */
  settingsOf?: string | undefined;
  /** Addresses of a host name; absent: what the system's resolver says. */
  resolve?(host: string): Promise<string[]>;
  /** Networks of this host's programs; absent: the session opens its own. */
  networks?: AgentNetworks | undefined;
  /**
   * Folder for what the walls of all sessions of a host share: the filter of system calls, and the records of empty
   * folders; absent: the session writes its own.
   */
  sharedWallsDir?: string | undefined;
  /**
   * Told, before the first contained program starts, which folders those programs may write; no program starts before it
   * has resolved. What it returns is called once they have all ended.
   */
  expose?(folders: readonly string[]): Promise<() => Promise<void>>;
  /** Finds what replaces git's folders in the view of a contained program; absent: nothing does. */
  gitMounts?: (() => Promise<GitMounts>) | undefined;
  /** The manifest's; absent: none. */
  endpoints?: readonly ModelEndpoint[] | undefined;
  /** They follow the requests to those for which the host has a key, in this order; absent: none does. */
  wires?: readonly Wire[] | undefined;
  /** The wires follow the adapter's own requests to these, too; absent: to endpoints alone. */
  modelPlaces?: ModelPlaces | undefined;
  /** Calls of the model count in a budget or are recorded: a program reaches the model by the endpoint alone; default: no. */
  isCounted?: boolean | undefined;
  /**
   * One of the wires answers every request: programs are always contained, and have no key and no place to reach but the
   * endpoints; default: no.
   */
  isReplay?: boolean | undefined;
  /** The highest process id in the session's stream so far; default: none. */
  lastProcessId?: number | undefined;
  /** Programs start once it has settled; absent: at once. */
  workMayBegin?: Promise<void>;
  /** Takes the broker's host events. */
  emit(event: HostEvent): void;
  /** Called for each path that the adapter itself may write. */
  onWrite?(path: string): void;
  /** Ends the session, whose programs used too much; absent: they alone are ended. */
  endSession?: ((error: ErrorData) => void) | undefined;
  /** Asks a person for a missing grant; absent when no person can be asked. */
  askGrant?: AskGrant | undefined;
  /** Asks the session's client about a host that a contained program calls; absent: what is not granted is denied. */
  askHost?: ((missing: MissingGrant) => Promise<boolean>) | undefined;
  /** Kinds of permission that the request or a denial narrows; for others the manifest alone sets the ceiling. */
  narrowed?: ReadonlySet<string> | undefined;
  /**
   * Top of the session's own worktree, which lies in the host's state; absent when it works in place. Real and
   * absolute.
   */
  workspaceDir?: string | undefined;
  /**
   * Real absolute paths that no permission allows: the host's own state. Data folder and worktree inside stay allowed.
   */
  protectedPaths?: readonly string[] | undefined;
  /** Real absolute paths that are never written: the packages of plugins. */
  sealedPaths?: readonly string[] | undefined;
  /**
   * The roots for writing that the operator's own grant spells out, as they are written. Only below them, and not below
   * those of manifest and request, the grant includes files that programs act on without being told.
   */
  spelledRoots?: Permissions["write"] | undefined;
  /** Real absolute paths of the folders in which this host finds plugins: written only where the grant names them. */
  pluginPlaces?: readonly string[] | undefined;
  /**
   * Names of files and folders, in addition to the built-in ones, that programs act on without being told; never
   * written.
   */
  autoexecNames?: readonly string[] | undefined;
  /** Takes the session's folders at its end; absent: they are removed before the broker is closed. */
  trash?: Pick<Trash, "take"> | undefined;
  /** Records child processes, so that the next host finds them when this one is killed. */
  children?: ChildLedger | undefined;
  /**
   * Returns an image or a file that the session's request or messages name; absent: there are none.
   * @throws {BulkheadError} `not_found` for any other
   */
  attachment?(sha256: string): Promise<AttachedFile>;
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
  /** Begins what contained programs need, so that the first one need not wait for it. Never throws. */
  prepare(): void;
  /** Returns true when the guards of running programs do not cover all that a new one's would. */
  guardsChanged(): Promise<boolean>;
  /** Returns the memory of the session's programs in bytes, of shared pages their part; null where it cannot be measured. */
  heldBytes(): Promise<number | null>;
  /** Knows the addresses that the session's programs have instead of their models'. */
  readonly addresses: Pick<StandInAddresses, "inText" | "inEvent">;
  /** Number of permission uses and denials so far. */
  readonly uses: PermissionUses;
  /** Kills every child with its whole tree, closes every stream, removes the temp folder. Never throws. */
  close(): Promise<void>;
}

/** Gets rid of a folder of a session that is over. */
export function discard({ trash }: Pick<SessionBrokerOptions, "trash">, folder: string): Promise<void> {
  return trash === undefined ? removeTree(folder) : trash.take(folder);
}
