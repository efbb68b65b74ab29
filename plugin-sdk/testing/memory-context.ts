import type { TurnTerms } from "../request.ts";
import { matchesArguments, parseArgumentPattern } from "../argument-pattern.ts";
import type {
  AdapterContext,
  AdapterLog,
  Connection,
  ConnectOptions,
  FetchOptions,
  FetchResponse,
  KeyValueStore,
  RunningProcess,
  RunOptions,
} from "../context.ts";
import { BulkheadError, errorDataOf } from "../errors.ts";
import type { PermissionOption } from "../events.ts";
import { MemoryFiles } from "./memory-files.ts";
import { MemoryTurns } from "./memory-turns.ts";
import { promised } from "./promised.ts";
import { ScriptedChild } from "./scripted-child.ts";
import { ScriptedConnection } from "./scripted-connection.ts";
import type {
  RecordedCall,
  RecordedConnection,
  RecordedRun,
  ScriptedProcess,
  ScriptedResponse,
  ScriptedSocket,
  ScriptedTurn,
} from "./scripts.ts";

/** Options of {@link MemoryContext}. An absent one counts as empty: asking for its content fails as in a real host. */
export interface MemoryContextOptions extends TurnTerms {
  /**
   * Each is used once: a call takes the first unused match. A function is asked for each call. `ctx.which` finds the
   * programs of a list; without a list, every program.
   */
  processes?: readonly ScriptedProcess[] | ((binary: string, args: readonly string[]) => ScriptedProcess | undefined);
  /** Images and files of the request and the messages, by hash: their bytes in base64. */
  attachments?: Readonly<Record<string, string>>;
  /** Answers of servers by URL. */
  responses?: Readonly<Record<string, ScriptedResponse>>;
  /** Far ends of WebSockets by URL. */
  sockets?: Readonly<Record<string, ScriptedSocket>>;
  /** Files by absolute path or relative to the working directory. */
  files?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  /** Names of the existing secrets; a placeholder reads `{{secret NAME}}` here. */
  secrets?: readonly string[];
  kv?: Readonly<Record<string, unknown>>;
  /** Answers to permission requests (an option's id) and questions, by request id; other requests get none. */
  answers?: Readonly<Record<string, string>>;
  /** Prompt of the first turn; default "Say hello.". */
  prompt?: string;
  /** Output schema of the first turn. */
  output_schema?: Record<string, unknown>;
  /**
   * The session's turns: the first entry is the request's own turn, each other one a further prompt. Absent: one turn, in an
   * entry that is not kept.
   */
  turns?: readonly ScriptedTurn[];
  /** Aborts the session. */
  signal?: AbortSignal;
  /** Default `/work`. */
  workdir?: string;
  /** Default `linux`. */
  platform?: string;
}

/** A log record of the adapter. */
export interface RecordedLog {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields?: Record<string, unknown>;
}

const tempFolder = "/temp";

/** The context of one session, in memory: it touches no file, program or network, and records every call. */
export class MemoryContext implements AdapterContext {
  readonly calls: RecordedCall[] = [];
  readonly records: RecordedLog[] = [];
  readonly memory: MemoryFiles;
  readonly values: Map<string, unknown>;
  readonly signal: AbortSignal;
  readonly session_id = "session-in-a-test";
  readonly attempt = 1;
  readonly workdir: string;
  readonly plugin_dir = "/plugin";
  readonly platform: string;
  readonly fs: AdapterContext["fs"];
  readonly temp: AdapterContext["temp"];
  readonly attachments: AdapterContext["attachments"];
  readonly env: AdapterContext["env"];
  readonly secrets: AdapterContext["secrets"];
  readonly kv: KeyValueStore;
  readonly log: AdapterLog;
  readonly turns: MemoryTurns;
  readonly #options: MemoryContextOptions;
  readonly #scripts: ScriptedProcess[];
  readonly #requests = new Map<string, readonly PermissionOption[]>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  constructor(options: MemoryContextOptions = {}) {
    this.#options = options;
    this.#scripts = Array.isArray(options.processes) ? [...options.processes] : [];
    this.signal = options.signal ?? new AbortController().signal;
    this.workdir = options.workdir ?? "/work";
    this.platform = options.platform ?? "linux";
    this.memory = new MemoryFiles(this.workdir, (call) => this.calls.push(call));
    this.memory.put(options.files ?? {});
    this.turns = new MemoryTurns(options);
    this.values = new Map(Object.entries(options.kv ?? {}));
    this.fs = this.memory.access();
    this.temp = this.memory.temp(tempFolder);
    const attached = (sha256: string): string => {
      this.calls.push({ call: "attachment", target: sha256 });
      const base64 = options.attachments?.[sha256];
      if (base64 === undefined) throw new BulkheadError("not_found", `The session has no attachment "${sha256}".`);
      return base64;
    };
    this.attachments = {
      base64: (sha256) => promised(() => attached(sha256)),
      path: (sha256) => promised(() => (attached(sha256), `${tempFolder}/${sha256.slice(0, 12)}`)),
    };
    this.env = {
      get: (target) =>
        promised(() => {
          this.calls.push({ call: "env.get", target });
          return Object.hasOwn(options.env ?? {}, target) ? options.env?.[target] : undefined;
        }),
    };
    this.secrets = {
      use: (target) =>
        promised(() => {
          this.calls.push({ call: "secrets.use", target });
          if (options.secrets?.includes(target)) return `{{secret ${target}}}`;
          throw new BulkheadError("env_missing", `Cannot use secret "${target}": the test gives none.`);
        }),
    };
    this.kv = this.#makeStore();
    this.log = {
      debug: (message, fields) => this.#write("debug", message, fields),
      info: (message, fields) => this.#write("info", message, fields),
      warn: (message, fields) => this.#write("warn", message, fields),
      error: (message, fields) => this.#write("error", message, fields),
    };
  }

  run(binary: string, args: readonly string[], options: RunOptions = {}): Promise<RunningProcess> {
    return promised(() => this.#start(binary, args, options));
  }

  which(target: string): Promise<string | null> {
    return promised(() => {
      this.calls.push({ call: "which", target });
      const isThere = !Array.isArray(this.#options.processes) ||
        this.#scripts.some(({ binary, error }) =>
          (binary ?? target) === target && errorDataOf(error)?.code !== "binary_missing"
        );
      return isThere ? `/bin/${target.slice(target.lastIndexOf("/") + 1)}` : null;
    });
  }

  fetch(url: string, options: FetchOptions = {}): Promise<FetchResponse> {
    return promised(() => this.#respond(url, options));
  }

  connect(url: string, options: ConnectOptions = {}): Promise<Connection> {
    return promised(() => this.#connect(url, options));
  }

  sleep(ms: number): Promise<void> {
    this.calls.push({ call: "sleep", ms });
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) return reject(this.signal.reason);
      const fail = (): void => reject(this.signal.reason);
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.signal.removeEventListener("abort", fail);
        resolve();
      }, ms);
      this.#timers.add(timer);
      this.signal.addEventListener("abort", fail, { once: true });
    });
  }

  permission(requestId: string): Promise<PermissionOption | null> {
    return promised(() => this.#choose(requestId));
  }

  answer(requestId: string): Promise<string | null> {
    return promised(() => this.#reply(requestId));
  }

  /** Remembers the options of a yielded permission request, so that its answer can be one of them. */
  offer(requestId: string, options: readonly PermissionOption[]): void {
    this.#requests.set(requestId, options);
  }

  /** Cancels the timers that still run. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #start(binary: string, args: readonly string[], options: RunOptions): RunningProcess {
    const record: RecordedRun = {
      call: "run",
      binary,
      args: [...args],
      options: { ...options },
      stdin: "",
      stdin_closed: options.stdin !== "open",
      killed: false,
    };
    this.calls.push(record);
    const script = this.#takeScript(binary, args);
    if (!script) {
      throw new BulkheadError(
        "binary_missing",
        `Cannot run ${JSON.stringify([binary, ...args])}: the test gives none.`,
      );
    }
    if (script.error) throw script.error;
    this.memory.put(script.files ?? {});
    this.memory.put(script.temp_files ?? {}, tempFolder);
    return new ScriptedChild(script, record);
  }

  #respond(url: string, options: FetchOptions): FetchResponse {
    this.calls.push({ call: "fetch", url, options });
    const responses = this.#options.responses ?? {};
    const response = Object.hasOwn(responses, url) ? responses[url] : undefined;
    if (!response) throw new BulkheadError("network_error", `Cannot fetch ${url}: the test gives no response.`);
    const { status = 200, headers = {}, body = "" } = response;
    const pieces = typeof body === "string" ? [body] : body;
    return {
      status,
      ok: status >= 200 && status < 300,
      headers,
      body: readPieces(pieces),
      text: () => Promise.resolve(pieces.join("")),
      json: () => promised(() => JSON.parse(pieces.join("")) as unknown),
    };
  }

  #connect(url: string, options: ConnectOptions): Connection {
    const record: RecordedConnection = { call: "connect", url, options: { ...options }, sent: [], closed: false };
    this.calls.push(record);
    const sockets = this.#options.sockets ?? {};
    const script = Object.hasOwn(sockets, url) ? sockets[url] : undefined;
    if (!script) throw new BulkheadError("network_error", `Cannot connect to ${url}: the test gives no WebSocket.`);
    if (script.error) throw script.error;
    return new ScriptedConnection(script, record);
  }

  #choose(requestId: string): PermissionOption | null {
    this.calls.push({ call: "permission", target: requestId });
    const choice = this.#answer(requestId);
    return this.#requests.get(requestId)?.find((option) => option.id === choice) ?? null;
  }

  #reply(requestId: string): string | null {
    this.calls.push({ call: "answer", target: requestId });
    return this.#answer(requestId) ?? null;
  }

  #takeScript(binary: string, args: readonly string[]): ScriptedProcess | undefined {
    const { processes } = this.#options;
    if (typeof processes === "function") return processes(binary, args);
    const index = this.#scripts.findIndex((script) =>
      (script.binary === undefined || script.binary === binary) &&
      (script.args === undefined || matchesArguments(parseArgumentPattern(script.args), args))
    );
    return index < 0 ? undefined : this.#scripts.splice(index, 1)[0];
  }

  #answer(requestId: string): string | undefined {
    const answers = this.#options.answers ?? {};
    return Object.hasOwn(answers, requestId) ? answers[requestId] : undefined;
  }

  #makeStore(): KeyValueStore {
    return {
      get: (target) =>
        promised(() => {
          this.calls.push({ call: "kv.get", target });
          return this.values.get(target);
        }),
      set: (target, value) =>
        promised(() => {
          this.calls.push({ call: "kv.set", target, value });
          this.values.set(target, JSON.parse(JSON.stringify(value)));
        }),
      delete: (target) =>
        promised(() => {
          this.calls.push({ call: "kv.delete", target });
          this.values.delete(target);
        }),
      list: (prefix = "") =>
        promised(() => {
          this.calls.push({ call: "kv.list", target: prefix });
          return [...this.values.keys()].filter((key) => key.startsWith(prefix)).sort();
        }),
    };
  }

  #write(level: RecordedLog["level"], message: string, fields: Record<string, unknown> | undefined): void {
    this.records.push({ level, message, ...(fields === undefined ? {} : { fields }) });
  }
}

async function* readPieces(pieces: readonly string[]): AsyncGenerator<string, void, void> {
  yield* pieces;
}
