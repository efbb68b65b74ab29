import type { AccessMode } from "./access-modes.ts";
import type { PermissionOption } from "./events.ts";
import type { Turn } from "./turns.ts";

/** Configuration of an adapter, for its `initialize`. */
export interface AgentConfig {
  working_directory: string;
  access_modes: AccessMode[];
  /**
   * Whether its programs run inside the host's walls. A sandbox of the agent's own cannot start in them; these hold in its
   * place.
   */
  programs_contained?: boolean;
  /** Instructions of the project, where the manifest names their files under `project_memory` and there are some. */
  project_memory?: ProjectMemory;
  /** Values for the options that the manifest declares under `config`, with defaults filled in. */
  custom?: Record<string, unknown>;
}

/** A project's instructions for agents, read by the host. */
export interface ProjectMemory {
  /** All files, each with its name. */
  text: string;
  /** Files and imports that were left out: they lead out of the project, or are too large, or no text. */
  left_out: string[];
}

/** Options of {@link AdapterContext.run}. */
export interface RunOptions {
  /** Environment of the child in addition to the host's; names must be granted. */
  env?: Record<string, string>;
  /** Folder inside the working directory; default: the working directory. */
  cwd?: string;
  /** `open` lets the adapter write to standard input; default `closed`. */
  stdin?: "open" | "closed";
  /**
   * `sockets`: for a program that prints much at once and exits before it was read. The host's pipes hold 256 KB for it; but
   * on Node without Perl they hold 64 KB, and such a program gets sockets there, which hold about 200 KB and which it cannot
   * open as `/dev/stdout`. On Deno streams are always sockets. Default `pipes`.
   */
  streams?: "pipes" | "sockets";
}

/** A child process as adapter code sees it. Its whole tree is killed when the session ends. */
export interface RunningProcess {
  readonly stdin: {
    /** Resolves when the child's pipe has accepted the text. */
    write(text: string): Promise<void>;
    close(): Promise<void>;
  };
  /** UTF-8 text in pieces of any size. Can be read once. */
  readonly stdout: AsyncIterable<string>;
  readonly stderr: AsyncIterable<string>;
  /** Settles once the program is gone and both outputs have ended or been closed. */
  readonly exit: Promise<ProcessExit>;
  /** Asks the whole tree to end, and kills it after the grace. */
  kill(): Promise<void>;
}

/** How a child process ended. */
export interface ProcessExit {
  exit_code: number | null;
  signal: string | null;
}

/** Options of {@link AdapterContext.fetch}. */
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A response whose body streams. */
export interface FetchResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** UTF-8 text in pieces. Can be read once. */
  readonly body: AsyncIterable<string>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/** Options of {@link AdapterContext.connect}. */
export interface ConnectOptions {
  headers?: Record<string, string>;
}

/** A WebSocket. It is closed when the session ends. */
export interface Connection {
  /**
   * Text messages, complete and in order. Can be read once; leaving the loop closes the connection. Ends when either
   * side has closed it in order.
   * @throws {BulkheadError} `network_error` when it broke off or was closed for a reason, with that reason's
   * `close_code` in its details; `too_large` for a message over its limit; `unsupported` for a message that is not text
   */
  readonly messages: AsyncIterable<string>;
  /**
   * Sends one text message; resolves when the system has accepted it.
   * @throws {BulkheadError} `network_error` when it is closed, `too_large`, `limit_exceeded` when the far end does not
   * read
   */
  send(text: string): Promise<void>;
  /** Closes in order; stops waiting for the far end if that takes too long. `code` is 1000, or one of 3000 to 4999. */
  close(code?: number, reason?: string): Promise<void>;
}

/** Kind and size of a file or folder. */
export interface FileInfo {
  kind: "file" | "folder" | "symlink" | "other";
  bytes: number;
  modified_at: string;
}

/** Access to files; each call is checked against the grant. Paths are absolute or relative to the working directory. */
export interface FileAccess {
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
  /** Writes a binary file: its bytes in base64, with padding. */
  writeBase64(path: string, base64: string): Promise<void>;
  list(path: string): Promise<string[]>;
  stat(path: string): Promise<FileInfo>;
  remove(path: string): Promise<void>;
}

/** The session's own files outside the working directory, deleted when it ends. They need no permission. */
export interface TempFiles {
  /** Writes a file (an empty text creates it for a program to fill) and returns its absolute path. */
  write(name: string, text: string): Promise<string>;
  read(name: string): Promise<string>;
}

/** Images and files of the session's request and messages. They need no permission. */
export interface AttachmentAccess {
  /**
   * Returns the bytes of one, in base64.
   * @throws {BulkheadError} `not_found` for one that neither the request nor a message of the session names
   */
  base64(sha256: string): Promise<string>;
  /**
   * Returns the absolute path of a copy in the session's temporary folder, which the agent's programs may read. Its name
   * ends as its type does.
   * @throws {BulkheadError} as {@link AttachmentAccess.base64}
   */
  path(sha256: string): Promise<string>;
}

/** The plugin's own durable values. */
export interface KeyValueStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
  list(prefix?: string): Promise<string[]>;
}

/** Writes log records, one method for each level; `fields` are JSON. */
export interface AdapterLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** All the authority of adapter code. The host's broker checks each call when it is made. */
export interface AdapterContext {
  /** Aborts when the session is interrupted or a deadline passes. */
  readonly signal: AbortSignal;
  readonly session_id: string;
  readonly attempt: number;
  /** Absolute path of the working directory. */
  readonly workdir: string;
  /** Absolute path of the plugin's own folder, for arguments of granted programs. */
  readonly plugin_dir: string;
  /** `linux`, `darwin` or `win32`. */
  readonly platform: string;
  /**
   * Starts a granted program with an argument list, without a shell.
   * @throws {BulkheadError} `permission_denied`, `binary_missing`, `limit_exceeded`
   */
  run(binary: string, args: readonly string[], options?: RunOptions): Promise<RunningProcess>;
  /**
   * Returns the absolute path of a granted program; null when it is not on this machine.
   * @throws {BulkheadError} `permission_denied`
   */
  which(program: string): Promise<string | null>;
  /**
   * Requests a granted `host:port`.
   * @throws {BulkheadError} `permission_denied`, `network_error`, `limit_exceeded`
   */
  fetch(url: string, options?: FetchOptions): Promise<FetchResponse>;
  /**
   * Opens a WebSocket to a granted `host:port`, by a `ws:` or `wss:` URL. Redirects are not followed.
   * @throws {BulkheadError} `permission_denied`, `limit_exceeded`, `network_error`; when an HTTP server answered
   * instead of a WebSocket, with its `status` in the details
   */
  connect(url: string, options?: ConnectOptions): Promise<Connection>;
  readonly fs: FileAccess;
  readonly temp: TempFiles;
  readonly attachments: AttachmentAccess;
  readonly env: {
    /** Returns the value of a granted name; undefined when it is not set. */
    get(name: string): Promise<string | undefined>;
  };
  readonly secrets: {
    /**
     * Returns a placeholder for a granted secret. Adapter code never sees its value: the broker replaces the
     * placeholder in a variable of `run` or a credential header of `fetch` or `connect` that the permission names, and
     * refuses a placeholder anywhere else.
     * @throws {BulkheadError} `permission_denied`, `env_missing` when it has no value
     */
    use(name: string): Promise<string>;
  };
  readonly kv: KeyValueStore;
  readonly log: AdapterLog;
  /** Waits; rejects with the signal's reason when the session ends meanwhile. */
  sleep(ms: number): Promise<void>;
  /**
   * Resolves to the client's answer to the last yielded `permission_request` of that id: one of its options. Null is no
   * answer, which is a denial: no one answered in time, the agent took the request back, or the host refused it.
   */
  permission(requestId: string): Promise<PermissionOption | null>;
  /** Resolves to the client's answer to the last yielded `question` of that id; null without one. */
  answer(requestId: string): Promise<string | null>;
  /**
   * The session's prompts, the request's own first. Ask for the next one when the last word of a turn is yielded: that ends
   * the turn. Ends when the host wants no more. An adapter that never reads it has one turn an entry. Only for
   * `accepts: [turns]`; others get one.
   */
  readonly turns: AsyncIterable<Turn>;
}
