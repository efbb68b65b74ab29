import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { platform } from "../engine/platform.ts";

/** Streams of a terminal that keys are read from. */
type KeyStream = NodeJS.ReadStream;

/** Keys that the terminal itself would turn into signals, which it does not in raw mode. */
const signals: ReadonlyMap<string, NodeJS.Signals> = new Map([
  ["\u0003", "SIGINT"],
  ["\u001a", "SIGTSTP"],
  ["\u001c", "SIGQUIT"],
]);

/**
 * Reads single keys while no line is read. Never in the background: there a process that reads its terminal, or sets its
 * mode, is stopped by the system.
 */
export class KeyReader {
  readonly #stdin: KeyStream;
  #handler: ((key: string) => void) | null = null;
  /** Lines that are being read. */
  #lines = 0;
  #isReading = false;

  constructor(stdin: KeyStream) {
    this.#stdin = stdin;
  }

  /** Calls the handler for each key. Returns how to stop that. */
  start(handler: (key: string) => void): () => void {
    this.#handler = handler;
    process.on("SIGCONT", this.#update).on("exit", this.#leave);
    this.#update();
    return () => {
      if (this.#handler !== handler) return;
      this.#handler = null;
      process.off("SIGCONT", this.#update).off("exit", this.#leave);
      this.#update();
    };
  }

  /** Reads a line, and no keys meanwhile. */
  async whileLine<T>(read: () => Promise<T>): Promise<T> {
    this.#lines += 1;
    this.#update();
    try {
      return await read();
    } finally {
      this.#lines -= 1;
      this.#update();
    }
  }

  readonly #update = (): void => {
    const reads = this.#handler !== null && this.#lines === 0 && this.#stdin.isTTY === true && isInForeground();
    if (!reads) return this.#leave();
    if (this.#isReading) return;
    this.#isReading = true;
    this.#stdin.setRawMode(true);
    this.#stdin.setEncoding("utf8");
    this.#stdin.on("data", this.#take);
    this.#stdin.resume();
  };

  readonly #leave = (): void => {
    if (!this.#isReading) return;
    this.#isReading = false;
    this.#stdin.off("data", this.#take);
    this.#stdin.setRawMode(false);
    this.#stdin.pause();
  };

  readonly #take = (text: string): void => {
    // The sequence of an arrow or another key comes as one piece.
    for (const key of text.startsWith("\u001b") ? [text] : text) {
      const signal = signals.get(key);
      if (signal === undefined) this.#handler?.(key);
      else this.#send(signal);
    }
  };

  /** Sends a signal to all processes of the job, as the terminal would. */
  #send(signal: NodeJS.Signals): void {
    if (signal === "SIGTSTP") this.#leave();
    process.kill(0, signal);
  }
}

/** Whether this process belongs to the job that its terminal listens to. */
function isInForeground(): boolean {
  try {
    const [group, foreground] = platform === "linux" ? groupsOnLinux() : groupsByPs();
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}

/** The process's group and its terminal's: the fields after the name, which may hold anything (proc(5)). */
function groupsOnLinux(): (string | undefined)[] {
  const fields = readFileSync("/proc/self/stat", "utf8").replace(/^.*\) /s, "").split(" ");
  return [fields[2], fields[5]];
}

function groupsByPs(): string[] {
  const { stdout } = spawnSync("/bin/ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "utf8" });
  return stdout.trim().split(/\s+/);
}
