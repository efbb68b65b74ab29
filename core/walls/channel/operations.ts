import type { Turn, TurnMessage } from "../../../plugin-sdk/turns.ts";
import type { ConnectOptions, FetchOptions, FileInfo, ProcessExit, RunOptions } from "../../../plugin-sdk/context.ts";

/** Every operation of the broker: what the guest sends as `args`, and what it gets back. All JSON. */
export interface Operations {
  run: {
    args: { binary: string; args: string[]; options: RunOptions };
    value: { process_id: number; stdout: number; stderr: number };
  };
  /** The path of a granted program; an error says why there is none. */
  which: { args: { program: string }; value: string };
  process_write: { args: { process_id: number; text: string }; value: null };
  process_close_stdin: { args: { process_id: number }; value: null };
  /** Answers when the program is gone. */
  process_wait: { args: { process_id: number }; value: ProcessExit };
  process_kill: { args: { process_id: number }; value: null };
  /** Waits for the next piece of a stream; null at its end. One read of a stream at a time. */
  stream_read: { args: { stream_id: number }; value: string | null };
  /** The reader has left: what still comes is thrown away. */
  stream_close: { args: { stream_id: number }; value: null };
  fetch: {
    args: { url: string; options: FetchOptions };
    value: { status: number; headers: Record<string, string>; body: number };
  };
  socket_open: { args: { url: string; options: ConnectOptions }; value: { socket_id: number } };
  /** Waits for messages and gives all there are; null once the connection is closed. One read of a socket at a time. */
  socket_read: { args: { socket_id: number }; value: string[] | null };
  /** Answers when the system took the message. */
  socket_send: { args: { socket_id: number; text: string }; value: null };
  socket_close: { args: { socket_id: number; code: number; reason: string }; value: null };
  fs_read_text: { args: { path: string }; value: string };
  fs_write_text: { args: { path: string; text: string }; value: null };
  fs_write_base64: { args: { path: string; base64: string }; value: null };
  fs_list: { args: { path: string }; value: string[] };
  fs_stat: { args: { path: string }; value: FileInfo };
  fs_remove: { args: { path: string }; value: null };
  temp_write: { args: { name: string; text: string }; value: string };
  temp_read: { args: { name: string }; value: string };
  /** The bytes from an offset on, in base64, and where the next call goes on; null at the end. */
  attachment_read: { args: { sha256: string; offset: number }; value: { base64: string; next: number | null } };
  /** The path of a copy in the temporary folder. */
  attachment_path: { args: { sha256: string }; value: string };
  env_get: { args: { name: string }; value: string | null };
  /** The placeholder of a secret. */
  secret_use: { args: { name: string }; value: string };
  kv_get: { args: { key: string }; value: unknown };
  kv_set: { args: { key: string; value: unknown }; value: null };
  kv_delete: { args: { key: string }; value: null };
  kv_list: { args: { prefix: string }; value: string[] };
  log: { args: { level: "debug" | "info" | "warn" | "error"; message: string; fields: unknown }; value: null };
  /** The id of the chosen option, or null. */
  permission_wait: { args: { request_id: string }; value: string | null };
  answer_wait: { args: { request_id: string }; value: string | null };
  /** Ends the turn under way and waits for the next one; null when there is none. The first call gives the entry's first. */
  turn_next: {
    /** `seen`: the messages into the turn that reached the adapter. */
    args: { seen: string[] };
    value: Omit<Turn, "messages" | "signal"> | null;
  };
  /** Waits for a message into a turn, or for its stop; null once it is over. */
  turn_wait: { args: { turn: number; for: "message" | "stop" }; value: TurnMessage | { stop: true } | null };
}

/** Name of an operation of the broker. */
export type OperationName = keyof Operations;

/** Asks the broker for one operation. */
export type ScopeCall = <Op extends OperationName>(
  op: Op,
  args: Operations[Op]["args"],
) => Promise<Operations[Op]["value"]>;
