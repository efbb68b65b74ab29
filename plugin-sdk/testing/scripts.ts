import type { TurnTerms } from "../request.ts";
import type { ConnectOptions, FetchOptions, RunOptions } from "../context.ts";
import type { BulkheadError } from "../errors.ts";
import type { AttachmentPart } from "../messages.ts";

/** Script of a simulated program in a test. */
export interface ScriptedProcess {
  /** The binary it simulates; absent: any. */
  binary?: string;
  /** The arguments it accepts, as a line of a run permission's `args`; absent: any. */
  args?: string;
  /** Its output, in pieces as they arrive. */
  stdout?: string | readonly string[];
  stderr?: string | readonly string[];
  /**
   * Answers a line of its input, by the pieces that it returns or prints at any later time; at a null it ends. With it, it
   * runs until its input is closed; absent: it ends when all is printed.
   */
  answer?(line: string, print: (text: string | null) => void): readonly (string | null)[] | void;
  /** Default 0. */
  exit_code?: number;
  /** The signal that ended it; then it has no exit code. */
  signal?: string;
  /** Files it leaves, by absolute path or relative to the working directory. */
  files?: Readonly<Record<string, string>>;
  /** Files it leaves under the names that the adapter gave to `ctx.temp`. */
  temp_files?: Readonly<Record<string, string>>;
  /** Prints everything and then runs until it is killed. */
  hangs?: boolean;
  /** Error with which its start fails. */
  error?: BulkheadError;
}

/** Simulated answer of a server in a test. */
export interface ScriptedResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body?: string | readonly string[];
}

/** Simulated far end of a WebSocket in a test. */
export interface ScriptedSocket {
  /** Messages that it sends at once. */
  messages?: readonly string[];
  /** Returns its replies to a message; null: it closes. Absent: it closes once it has sent its messages. */
  answer?(text: string): readonly string[] | null;
  /** Error with which opening it fails. */
  error?: BulkheadError;
}

/** A program the adapter started. */
export interface RecordedRun {
  call: "run";
  binary: string;
  args: string[];
  options: RunOptions;
  /** Text written to its standard input until now. */
  stdin: string;
  stdin_closed: boolean;
  killed: boolean;
}

/** A WebSocket the adapter opened. */
export interface RecordedConnection {
  call: "connect";
  url: string;
  options: ConnectOptions;
  /** Messages sent on it until now. */
  sent: string[];
  closed: boolean;
}

/** A call of the adapter on its context. */
export type RecordedCall =
  | RecordedRun
  | RecordedConnection
  | { call: "fetch"; url: string; options: FetchOptions }
  | {
    call: "fs.readText" | "fs.list" | "fs.stat" | "fs.remove" | "temp.read" | "env.get" | "secrets.use" | "which";
    target: string;
  }
  | { call: "kv.get" | "kv.delete" | "kv.list" | "permission" | "answer" | "attachment"; target: string }
  | { call: "fs.writeText" | "fs.writeBase64" | "temp.write"; target: string; text: string }
  | { call: "kv.set"; target: string; value: unknown }
  | { call: "sleep"; ms: number };

/** One turn that the host gives. */
export interface ScriptedTurn extends TurnTerms {
  /** Required but for the first turn, which has the request's. */
  prompt?: string;
  content?: readonly AttachmentPart[];
  output_schema?: Record<string, unknown>;
  /** Words of the client into the turn, given as the adapter asks for them; their ids are `turn-1-message-1` and so on. */
  messages?: readonly string[] | AsyncIterable<string>;
  /** The host gives the turn only then; default at once. */
  after?: Promise<void>;
}
