import { tmpdir } from "node:os";
import type { TextSink } from "../../../core/ground/platform/terminal/standard-streams.ts";
import type { Terminal } from "../../../core/ground/platform/terminal/terminal.ts";

export interface FakeTerminalOptions {
  args?: string[];
  cwd?: string;
  /** Lines typed, or the piped text. */
  stdin?: string;
  tty?: boolean;
  columns?: number;
  colours?: boolean;
  env?: Record<string, string>;
}

export interface FakeTerminal extends Terminal {
  out(): string;
  err(): string;
  exits: number[];
  /** Presses a key, while keys are listened to. */
  press(key: string): void;
  /** Presses Ctrl-C. */
  interrupt(): void;
  /** Closes the terminal of a daemon. */
  hangUp(): void;
  /** Sends SIGHUP to a daemon without a terminal. */
  reload(): void;
  /** The reader of standard output goes away. */
  closeOutput(): void;
}

/** A terminal whose texts a test can read. */
export function fakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const { args = [], cwd = tmpdir(), stdin = "", tty = false, columns = 0, colours = false } = options;
  const texts = { out: "", err: "" };
  const gone = new AbortController();
  const typed = stdin.split("\n");
  const handlers = new Set<() => void>();
  const hangUps = new Set<() => void>();
  const reloads = new Set<() => void>();
  const exits: number[] = [];
  const keys = new Set<(key: string) => void>();
  const sink = (name: "out" | "err", closed: AbortSignal): TextSink => ({
    isTty: tty,
    columns,
    rows: tty ? 24 : 0,
    closed,
    giveUpAfter() {},
    flush: async () => {},
    write: async (text) => {
      if (!closed.aborted) texts[name] += typeof text === "string" ? text : new TextDecoder().decode(text);
    },
  });
  return {
    args,
    cwd,
    stdin: {
      isTty: tty,
      chunks: () => chunksOf(stdin),
      readAll: async () => stdin,
      readLine: async (signal) => signal?.aborted ? null : typed.shift() ?? null,
      readHiddenLine: async () => typed.shift() ?? null,
      onKey: (handler) => {
        keys.add(handler);
        return () => keys.delete(handler);
      },
    },
    stdout: sink("out", gone.signal),
    stderr: sink("err", new AbortController().signal),
    colours: { stdout: colours, stderr: colours },
    env: (name) => options.env?.[name],
    onInterrupt: (handler) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    onSignals: ({ end, hangUp, reload }) => {
      handlers.add(end);
      hangUps.add(hangUp);
      reloads.add(reload);
      return () => {
        handlers.delete(end);
        hangUps.delete(hangUp);
        reloads.delete(reload);
      };
    },
    exit: (code) => exits.push(code),
    out: () => texts.out,
    err: () => texts.err,
    exits,
    press: (key) => [...keys].forEach((handler) => handler(key)),
    interrupt: () => [...handlers].forEach((handler) => handler()),
    hangUp: () => [...hangUps].forEach((handler) => handler()),
    reload: () => [...reloads].forEach((handler) => handler()),
    closeOutput: () => gone.abort(),
  };
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array, void, void> {
  yield new TextEncoder().encode(text);
}
