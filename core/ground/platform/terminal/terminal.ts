import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";
import process from "node:process";
import { endProcess } from "../processes/end-process.ts";
import { hostEnv, platform } from "../engine/platform.ts";
import { standardError, standardInput, standardOutput, type TextSink, type TextSource } from "./standard-streams.ts";

/** Handlers of signals; they replace the default of dying. */
export interface SignalHandlers {
  /** SIGINT and SIGTERM. */
  end(): void;
  /** SIGHUP in a terminal: it was closed. A shell and the system may each say so. */
  hangUp(): void;
  /** SIGHUP elsewhere. */
  reload(): void;
}

/** Whether an output is coloured; `plain`: it has words for signs, no colours, and nothing that moves. */
export type Colours = boolean | "plain";

/** Surroundings of a command-line program. Passed from the top, so that tests can pass their own. */
export interface Terminal {
  /** Arguments after the program's own name. */
  readonly args: readonly string[];
  /** Absolute path of the folder it was started in. */
  readonly cwd: string;
  readonly stdin: TextSource;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  /** How standard output looks, and standard error. */
  readonly colours: { stdout: Colours; stderr: Colours };
  env(name: string): string | undefined;
  /**
   * Calls the handler for each SIGINT, SIGTERM and SIGHUP; the process no longer dies from them. Returns how to stop
   * that.
   */
  onInterrupt(handler: () => void): () => void;
  /** The same for a daemon: SIGHUP reloads one that belongs to no terminal. */
  onSignals(handlers: SignalHandlers): () => void;
  /** Ends the process within a second, even when its threads are stuck. */
  exit(code: number): void;
}

/** The terminal, or pipes, of this process. */
export function openTerminal(): Terminal {
  const stdout = standardOutput();
  const stderr = standardError();
  let holds: boolean | undefined;
  return {
    args: process.argv.slice(2),
    cwd: process.cwd(),
    stdin: standardInput(),
    stdout,
    stderr,
    colours: { stdout: wantsColours(stdout.isTty, hostEnv), stderr: wantsColours(stderr.isTty, hostEnv) },
    env: hostEnv,
    onInterrupt,
    onSignals: (handlers) => onSignals(handlers, holds ??= holdsTerminal()),
    exit: (code) => void endProcess(code),
  };
}

/** Whether a person asks for plain output: by `--plain`, `BULKHEAD_PLAIN`, or else `TERM=dumb`. */
export function wantsPlain({ args, env }: Pick<Terminal, "args" | "env">): boolean {
  const end = args.indexOf("--");
  if (args.slice(0, end === -1 ? args.length : end).includes("--plain")) return true;
  const asked = env("BULKHEAD_PLAIN") ?? "";
  return asked === "" ? env("TERM") === "dumb" : asked !== "0" && asked !== "false";
}

/** Decides whether to colour an output: by `FORCE_COLOR`, `NO_COLOR`, `TERM=dumb`, or else its terminal. */
function wantsColours(isTty: boolean, env: (name: string) => string | undefined): boolean {
  const forced = env("FORCE_COLOR");
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env("NO_COLOR")) return false;
  return isTty && env("TERM") !== "dumb";
}

function onInterrupt(handler: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const pressed = oncePerPress(handler);
  for (const signal of signals) process.on(signal, pressed);
  return () => {
    for (const signal of signals) process.off(signal, pressed);
  };
}

function onSignals({ end, hangUp, reload }: SignalHandlers, inTerminal: boolean): () => void {
  const pressed = oncePerPress(end);
  const hungUp = inTerminal ? hangUp : reload;
  process.on("SIGINT", pressed).on("SIGTERM", pressed).on("SIGHUP", hungUp);
  return () => void process.off("SIGINT", pressed).off("SIGTERM", pressed).off("SIGHUP", hungUp);
}

/** No person presses Ctrl-C twice in so short a time. Milliseconds. */
const echoMs = 300;

/** Takes a signal that follows another one at once for its echo: `npx` and `deno task` send on what the terminal has sent. */
function oncePerPress(handler: () => void): () => void {
  let pressedAt = -Infinity;
  return () => {
    const now = performance.now();
    if (now - pressedAt < echoMs) return;
    pressedAt = now;
    handler();
  };
}

/**
 * Standard streams of which one at least leads to the terminal of a process in use there. `nohup` leaves none of them at
 * it; on macOS and the BSDs it leaves standard input. It has no other trace: Node resets the signals it ignored.
 */
const streamsAtTerminal = platform === "linux" ? [0, 1, 2] : [1, 2];

/** Whether a SIGHUP means that the terminal of this process was closed. Ask before the first one. */
function holdsTerminal(): boolean {
  return streamsAtTerminal.some((stream) => isatty(stream)) && hasControllingTerminal();
}

/** A process in a session of its own has none, also where a stream of its still leads to one. */
function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch (error) {
    // Any other error says nothing about the terminal, for example where a container has no /dev/tty.
    return !(error instanceof Error && "code" in error && error.code === "ENXIO");
  }
}
