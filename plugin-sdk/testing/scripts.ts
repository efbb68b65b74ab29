import type { ConnectOptions, FetchOptions, RunOptions } from "../context.ts";
import type { BulkheadError } from "../errors.ts";

/** What stands for a program in a test. */
export interface ScriptedProcess {
  /** The binary it stands for; absent: any. */
  binary?: string;
  /** The arguments it stands for, as a line of a run permission's `args`; absent: any. */
  args?: string;
  /** What it prints, in pieces as they arrive. */
  stdout?: string | readonly string[];
  stderr?: string | readonly string[];
  /** Default 0. */
  exit_code?: number;
  /** The signal that ended it; then it has no exit code. */
  signal?: string;
  /** Files it leaves, by absolute path or relative to the working directory. */
  files?: Readonly<Record<string, string>>;
  /** Files it leaves under the names that the adapter gave to `ctx.temp`. */
  temp_files?: Readonly<Record<string, string>>;
  /** Prints all and then lives on until it is killed. */
  hangs?: boolean;
  /** Starting it fails with this. */
  error?: BulkheadError;
}

/** What stands for a server's answer in a test. */
export interface ScriptedResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body?: string | readonly string[];
}

/** What stands for the far end of a WebSocket in a test. */
export interface ScriptedSocket {
  /** What it says at once. */
  messages?: readonly string[];
  /** What it says to a message that is sent to it; null: it closes. Absent: it closes once it has said its messages. */
  answer?(text: string): readonly string[] | null;
  /** Opening it fails with this. */
  error?: BulkheadError;
}

/** A program the adapter started. */
export interface RecordedRun {
  call: "run";
  binary: string;
  args: string[];
  options: RunOptions;
  /** What was written to its standard input until now. */
  stdin: string;
  stdin_closed: boolean;
  killed: boolean;
}

/** A WebSocket the adapter opened. */
export interface RecordedConnection {
  call: "connect";
  url: string;
  options: ConnectOptions;
  /** What was sent on it until now. */
  sent: string[];
  closed: boolean;
}

/** Something the adapter asked of its context. */
export type RecordedCall =
  | RecordedRun
  | RecordedConnection
  | { call: "fetch"; url: string; options: FetchOptions }
  | {
    call: "fs.readText" | "fs.list" | "fs.stat" | "fs.remove" | "temp.read" | "env.get" | "secrets.use";
    target: string;
  }
  | { call: "kv.get" | "kv.delete" | "kv.list" | "permission" | "answer"; target: string }
  | { call: "fs.writeText" | "fs.writeBase64" | "temp.write"; target: string; text: string }
  | { call: "kv.set"; target: string; value: unknown }
  | { call: "sleep"; ms: number };
