import type {
  AdapterContext,
  Connection,
  FetchResponse,
  ProcessExit,
  RunningProcess,
  RunOptions,
} from "../../../plugin-sdk/context.ts";
import { errorDataOf } from "../../../plugin-sdk/errors.ts";
import type { PermissionOption } from "../../../plugin-sdk/events.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionFacts } from "../channel/protocol.ts";
import { guestTurns } from "./guest-turns.ts";
import { freezeClosures } from "./lockdown.ts";
import type { Scope } from "./scope.ts";
import type { Operations, ScopeCall } from "../channel/operations.ts";

interface ContextOptions {
  facts: SessionFacts;
  signal: unknown;
  scope: Scope;
  call: ScopeCall;
  /** The options that a yielded permission request offered. */
  permissionOptions(requestId: string): PermissionOption[];
}

/** All the authority of adapter code: hardened functions over `call`, with arguments as plain strings. */
export function makeContext(options: ContextOptions): AdapterContext {
  const { facts, call, scope } = options;
  const context = {
    signal: options.signal as AbortSignal,
    ...facts,
    run: async (binary: string, args: readonly string[], runOptions: RunOptions = {}) => {
      const plain = { binary: String(binary), args: Array.from(args, String), options: plainRunOptions(runOptions) };
      return runningProcess(await call("run", plain), call);
    },
    which: async (program: string) => {
      try {
        return await call("which", { program: String(program) });
      } catch (error) {
        if (errorDataOf(error)?.code === "binary_missing") return null;
        throw error;
      }
    },
    fetch: async (url: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) => {
      const response = await call("fetch", {
        url: String(url),
        options: omitUndefined({
          method: init.method === undefined ? undefined : String(init.method),
          headers: init.headers === undefined ? undefined : textRecord(init.headers),
          body: init.body === undefined ? undefined : String(init.body),
        }),
      });
      return fetchResponse(response, call);
    },
    connect: async (url: string, init: { headers?: Record<string, string> } = {}) => {
      const options = init.headers === undefined ? {} : { headers: textRecord(init.headers) };
      return makeConnection(await call("socket_open", { url: String(url), options }), call);
    },
    fs: {
      readText: (path: string) => call("fs_read_text", { path: String(path) }),
      writeText: async (path: string, text: string) => {
        await call("fs_write_text", { path: String(path), text: String(text) });
      },
      writeBase64: async (path: string, base64: string) => {
        await call("fs_write_base64", { path: String(path), base64: String(base64) });
      },
      list: (path: string) => call("fs_list", { path: String(path) }),
      stat: (path: string) => call("fs_stat", { path: String(path) }),
      remove: async (path: string) => {
        await call("fs_remove", { path: String(path) });
      },
    },
    temp: {
      write: (name: string, text: string) => call("temp_write", { name: String(name), text: String(text) }),
      read: (name: string) => call("temp_read", { name: String(name) }),
    },
    attachments: {
      base64: async (sha256: string) => {
        let text = "";
        for (let offset: number | null = 0; offset !== null;) {
          const piece: Operations["attachment_read"]["value"] = await call("attachment_read", {
            sha256: String(sha256),
            offset,
          });
          text += piece.base64;
          offset = piece.next;
        }
        return text;
      },
      path: (sha256: string) => call("attachment_path", { sha256: String(sha256) }),
    },
    env: { get: async (name: string) => (await call("env_get", { name: String(name) })) ?? undefined },
    secrets: { use: (name: string) => call("secret_use", { name: String(name) }) },
    kv: {
      get: (key: string) => call("kv_get", { key: String(key) }),
      set: async (key: string, value: unknown) => {
        await call("kv_set", { key: String(key), value });
      },
      delete: async (key: string) => {
        await call("kv_delete", { key: String(key) });
      },
      list: (prefix = "") => call("kv_list", { prefix: String(prefix) }),
    },
    log: {
      debug: (message: string, fields?: unknown) => scope.log("debug", String(message), fields ?? null),
      info: (message: string, fields?: unknown) => scope.log("info", String(message), fields ?? null),
      warn: (message: string, fields?: unknown) => scope.log("warn", String(message), fields ?? null),
      error: (message: string, fields?: unknown) => scope.log("error", String(message), fields ?? null),
    },
    sleep: (ms: number) => sleep(scope, { ms: Number(ms), signal: options.signal as AbortSignal }),
    permission: async (requestId: string) => {
      // Read before the wait: a later request may use the id again.
      const offered = options.permissionOptions(String(requestId));
      const choice = await call("permission_wait", { request_id: String(requestId) });
      return offered.find((option) => option.id === choice) ?? null;
    },
    answer: (requestId: string) => call("answer_wait", { request_id: String(requestId) }),
    turns: guestTurns(call),
  } satisfies AdapterContext;
  // The signal is a live object with listeners; its class is hardened, but the object itself must stay mutable.
  const { signal, ...rest } = context;
  return Object.freeze({ ...freezeClosures(rest), signal });
}

function plainRunOptions(options: RunOptions): RunOptions {
  return {
    ...omitUndefined({
      env: options.env === undefined ? undefined : textRecord(options.env),
      cwd: options.cwd === undefined ? undefined : String(options.cwd),
    }),
    stdin: options.stdin === "open" ? "open" : "closed",
    streams: options.streams === "sockets" ? "sockets" : "pipes",
  };
}

function textRecord(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value)]));
}

function runningProcess(
  started: { process_id: number; stdout: number; stderr: number },
  call: ScopeCall,
): RunningProcess {
  const { process_id } = started;
  const exit: Promise<ProcessExit> = call("process_wait", { process_id });
  // The rejection must not end an adapter that never looks at `exit`.
  exit.catch(() => {});
  return freezeClosures({
    stdin: {
      write: async (text: string) => {
        await call("process_write", { process_id, text: String(text) });
      },
      close: async () => {
        await call("process_close_stdin", { process_id });
      },
    },
    stdout: textStream(started.stdout, call),
    stderr: textStream(started.stderr, call),
    exit,
    kill: async () => {
      await call("process_kill", { process_id });
    },
  });
}

function fetchResponse(
  response: { status: number; headers: Record<string, string>; body: number },
  call: ScopeCall,
): FetchResponse {
  const body = textStream(response.body, call);
  const text = async () => {
    let whole = "";
    for await (const piece of body) whole += piece;
    return whole;
  };
  return freezeClosures({
    status: response.status,
    ok: response.status >= 200 && response.status < 300,
    headers: response.headers,
    body,
    text,
    json: async () => JSON.parse(await text()) as unknown,
  });
}

function sleep(scope: Scope, options: { ms: number; signal: AbortSignal }): Promise<void> {
  const { signal, ms } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      scope.stopTimer(timer);
      reject(signal.reason);
    };
    const timer = scope.startTimer(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, { ms, repeat: false });
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** A WebSocket that the broker has opened, as adapter code sees it. */
function makeConnection({ socket_id }: { socket_id: number }, call: ScopeCall): Connection {
  const close = async (code = 1000, reason = "") => {
    await call("socket_close", { socket_id, code: Number(code), reason: String(reason) });
  };
  return freezeClosures({
    messages: readOnce("These messages have", { read: () => call("socket_read", { socket_id }), close }),
    send: async (text: string) => {
      await call("socket_send", { socket_id, text: String(text) });
    },
    close,
  });
}

/** An output of a program or the body of an answer. */
function textStream(stream_id: number, call: ScopeCall): AsyncIterable<string> {
  const read = async () => {
    const text = await call("stream_read", { stream_id });
    return text === null ? null : [text];
  };
  return readOnce("This stream has", { read, close: () => call("stream_close", { stream_id }) });
}

/** A place that texts come from: some at once, and null when it is over. */
interface Source {
  read(): Promise<readonly string[] | null>;
  close(): Promise<unknown>;
}

/** The texts of a source that a reader pulls. */
function readOnce(what: string, source: Source): AsyncIterable<string> {
  let taken = false;
  return {
    [Symbol.asyncIterator]() {
      if (taken) throw new TypeError(`${what} been read already.`);
      taken = true;
      return readerOf(source);
    },
  };
}

/** The next texts are asked for ahead, so that a busy source costs no round trip. */
function readerOf(source: Source): AsyncIterator<string> {
  let ahead: Promise<readonly string[] | null> | null = null;
  let batch: readonly string[] = [];
  let at = 0;
  let over = false;
  const read = () => {
    const reading = source.read();
    reading.catch(() => {});
    return reading;
  };
  return freezeClosures({
    next: async () => {
      while (!over && at >= batch.length) {
        const texts = await (ahead ?? read());
        ahead = texts === null ? null : read();
        over = texts === null;
        batch = texts ?? [];
        at = 0;
      }
      if (over) return { done: true as const, value: undefined };
      return { done: false as const, value: batch[at++]! };
    },
    return: async () => {
      if (!over) {
        over = true;
        await source.close();
      }
      return { done: true as const, value: undefined };
    },
  });
}
