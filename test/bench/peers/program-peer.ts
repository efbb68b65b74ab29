import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { linesOf } from "./lines.ts";
import { type OpenPeer, PieceCount, type RunTimes } from "./peer.ts";

/** A program that is started for each session. */
export interface ProgramCall {
  command: readonly string[];
  cwd: string;
  env?: Record<string, string | undefined>;
}

/** A peer whose sessions are programs, each with the prompt as its last argument. */
export class ProgramPeer implements OpenPeer {
  readonly root = null;
  readonly #call: ProgramCall;
  readonly #held: ChildProcess[] = [];
  readonly #end: () => Promise<void>;

  /** @param end Ends what the programs need. */
  constructor(call: ProgramCall, end: () => Promise<void> = () => Promise.resolve()) {
    this.#call = call;
    this.#end = end;
  }

  async run(prompt: string): Promise<RunTimes> {
    const count = new PieceCount();
    const child = this.#start(prompt);
    const gone = once(child, "exit");
    for await (const lines of linesOf(child.stdout!)) {
      for (const line of lines) {
        JSON.parse(line);
        count.take(line);
      }
    }
    const [code] = await gone as [number | null];
    if (code !== 0) throw new Error(`${this.#call.command.join(" ")} ended with exit code ${code}.`);
    return count.end();
  }

  async hold(): Promise<void> {
    const child = this.#start("[wait]");
    this.#held.push(child);
    child.stdout!.setEncoding("utf8");
    for await (const piece of child.stdout!.iterator({ destroyOnReturn: false })) {
      if (String(piece).includes("waiting")) return void child.stdout!.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#held.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    }));
    await this.#end();
  }

  #start(prompt: string): ChildProcess {
    const { command: [program = "", ...args], cwd, env } = this.#call;
    return spawn(program, [...args, prompt], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  }
}
