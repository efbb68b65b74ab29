import { Buffer } from "node:buffer";
import process from "node:process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { startBackgroundTimer } from "../engine/background-timer.ts";
import { KeyReader } from "./key-reader.ts";

/** One of the program's two outputs. */
export interface TextSink {
  readonly isTty: boolean;
  /** Columns of the terminal; 0 where there is none. */
  readonly columns: number;
  /** Rows of the terminal; 0 where there is none. */
  readonly rows: number;
  /** Resolves when the reader can take more. Never rejects: what a gone reader does not read is dropped. */
  write(text: string | Uint8Array): Promise<void>;
  /** Resolves when everything written has been handed over. */
  flush(): Promise<void>;
  /** Aborts when the reader is gone, as with `| head`; its reason is a `timeout` where the reader was given up. */
  readonly closed: AbortSignal;
  /**
   * From now on a reader that leaves unread for so many milliseconds what waits for it is given up: what it has not read
   * is dropped, and `closed` aborts.
   */
  giveUpAfter(ms: number): void;
}

/** The same output, of which all text goes through a writer. */
export function throughWrite(sink: TextSink, write: TextSink["write"]): TextSink {
  return {
    isTty: sink.isTty,
    get columns() {
      return sink.columns;
    },
    get rows() {
      return sink.rows;
    },
    closed: sink.closed,
    write,
    flush: () => sink.flush(),
    giveUpAfter: (ms) => sink.giveUpAfter(ms),
  };
}

/** The program's input. */
export interface TextSource {
  readonly isTty: boolean;
  /** Its bytes as they come, until it ends; leaving the loop closes it. */
  chunks(): AsyncIterable<Uint8Array>;
  /**
   * All text until the input ends.
   * @throws {BulkheadError} `too_large` beyond `maxBytes`
   */
  readAll(maxBytes: number): Promise<string>;
  /** One line without its end; null when the input has ended or the signal aborts. */
  readLine(signal?: AbortSignal): Promise<string | null>;
  /** One line that the terminal does not show while it is typed; null when the input has ended or was interrupted. */
  readHiddenLine(): Promise<string | null>;
  /**
   * Calls the handler for each key that is pressed at the terminal, while no line is read. Ctrl-C stays a signal. Returns
   * how to stop that.
   */
  onKey(handler: (key: string) => void): () => void;
}

/** The process's standard output. */
export function standardOutput(): TextSink {
  return sinkOf(patientOutput() ?? process.stdout);
}

/** The process's standard error. */
export function standardError(): TextSink {
  return sinkOf(process.stderr);
}

/** The process's standard input. */
export function standardInput(): TextSource {
  const stdin = process.stdin;
  const keys = new KeyReader(stdin);
  return {
    isTty: stdin.isTTY === true,
    chunks: () => readChunks(stdin),
    readAll: (maxBytes) => readAll(stdin, maxBytes),
    readLine: (signal) => keys.whileLine(() => readLine(stdin, signal)),
    readHiddenLine: () => keys.whileLine(() => readHiddenLine(stdin)),
    onKey: (handler) => keys.start(handler),
  };
}

/** Standard output on Deno where it is no terminal, else null. Deno's own stops the process until it is read. */
function patientOutput(): Writable | null {
  const { Deno } = globalThis as { Deno?: { stdout: { write(bytes: Uint8Array): Promise<number> } } };
  if (Deno === undefined || process.stdout.isTTY) return null;
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
  };
  return new Writable({
    writev: (chunks, done) => {
      writeAll(Buffer.concat(chunks.map(({ chunk }) => chunk as Uint8Array))).then(() => done(), done);
    },
  });
}

type OutputStream = Writable & Partial<Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows">>;

function sinkOf(stream: OutputStream): TextSink {
  const gone = new AbortController();
  let patienceMs: number | null = null;
  stream.on("error", () => gone.abort());
  return {
    isTty: stream.isTTY === true,
    get columns() {
      return stream.columns ?? 0;
    },
    get rows() {
      return stream.rows ?? 0;
    },
    closed: gone.signal,
    write(text) {
      if (gone.signal.aborted || stream.write(text)) return Promise.resolve();
      return drained(stream, { gone, patienceMs });
    },
    giveUpAfter(ms) {
      patienceMs = ms;
    },
    flush() {
      if (gone.signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = (): void => {
          gone.signal.removeEventListener("abort", done);
          resolve();
        };
        gone.signal.addEventListener("abort", done);
        stream.write("", done);
      });
    },
  };
}

function drained(
  stream: Writable,
  { gone, patienceMs }: { gone: AbortController; patienceMs: number | null },
): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = (): void => gone.abort(stalledError(patienceMs!));
    const cancel = patienceMs === null ? () => {} : startBackgroundTimer(giveUp, patienceMs);
    const done = (): void => {
      cancel();
      stream.off("drain", done);
      gone.signal.removeEventListener("abort", done);
      resolve();
    };
    stream.on("drain", done);
    gone.signal.addEventListener("abort", done);
  });
}

function stalledError(ms: number): BulkheadError {
  return new BulkheadError(
    "timeout",
    `Cannot go on: the program that reads the output has read nothing for ${ms} ms.`,
    {
      hint: "Start it again. What its sessions said is in the journal: bulkhead session list.",
    },
  );
}

async function* readChunks(stdin: NodeJS.ReadStream): AsyncGenerator<Uint8Array, void, void> {
  for await (const piece of stdin) yield typeof piece === "string" ? Buffer.from(piece) : piece as Uint8Array;
}

async function readAll(stdin: NodeJS.ReadStream, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(stdin)) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new BulkheadError("too_large", `Standard input is larger than ${maxBytes} bytes.`);
    }
    pieces.push(chunk);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** In raw mode the terminal echoes nothing and leaves every key to us: Enter, Backspace, Ctrl-U, Ctrl-C and Ctrl-D. */
function readHiddenLine(stdin: NodeJS.ReadStream): Promise<string | null> {
  if (stdin.isTTY !== true) return readLine(stdin);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  return new Promise((resolve) => {
    let line = "";
    const settle = (typed: string | null): void => {
      stdin.off("data", take).off("end", end);
      stdin.setRawMode(false);
      stdin.pause();
      resolve(typed);
    };
    const end = (): void => settle(null);
    const take = (text: string): void => {
      for (const key of text) {
        if (key === "\r" || key === "\n") return settle(line);
        if (key === "\u0003" || (key === "\u0004" && line === "")) return settle(null);
        if (key === "\u0015") line = "";
        else if (key === "\u007f" || key === "\b") line = [...line].slice(0, -1).join("");
        else if (key >= " ") line += key;
      }
    };
    stdin.on("data", take).on("end", end);
    stdin.resume();
  });
}

function readLine(stdin: NodeJS.ReadStream, signal?: AbortSignal): Promise<string | null> {
  if (signal?.aborted) return Promise.resolve(null);
  // Without `terminal` the line is the kernel's: Ctrl-C stays a signal, and no escape sequence is sent.
  const lines = createInterface({ input: stdin, terminal: false });
  return new Promise((resolve) => {
    const settle = (line: string | null): void => {
      signal?.removeEventListener("abort", onAbort);
      resolve(line);
      lines.close();
      stdin.pause();
    };
    const onAbort = (): void => settle(null);
    signal?.addEventListener("abort", onAbort);
    lines.once("line", settle);
    lines.once("close", () => settle(null));
  });
}
