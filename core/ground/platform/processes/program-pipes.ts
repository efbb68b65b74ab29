import { spawn } from "node:child_process";
import { closeSync, constants, openSync, statSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { platform, runtimeName } from "../engine/platform.ts";

/**
 * Pipes for a program's standard streams. Node's own are socket pairs, and Linux opens no socket by its name: a program
 * could not open `/dev/stdin`, `/dev/stdout` and `/dev/stderr`.
 */
export interface ProgramPipes {
  /** The program's ends, for its `stdio`. */
  theirs: [stdin: number | "ignore", stdout: number, stderr: number];
  stdin: Writable | null;
  stdout: Readable;
  stderr: Readable;
  /** Closes the program's ends in this process; without it no stream would end. */
  closeTheirs(): void;
}

const areNeeded = platform === "linux" && runtimeName === "node";

/** Makes pipes ahead, so that the first program need not wait for them. */
export function prepareProgramPipes(): void {
  if (areNeeded) stock.fill();
}

/** Closes the pipes that were made ahead; a later program gets new ones. */
export async function dropProgramPipes(): Promise<void> {
  await stock.drop();
}

/** Opens the pipes of a program; null where the runtime's own do, and where the system gives none. */
export async function openProgramPipes({ stdin }: { stdin: "open" | "closed" }): Promise<ProgramPipes | null> {
  if (!areNeeded) return null;
  const opened: number[] = [];
  const pipes = await stock.take(stdin === "open" ? 3 : 2);
  if (pipes === null) return null;
  try {
    const [output, errors, input] = pipes;
    const open = (pipe: number | undefined, flags: number) => {
      const descriptor = openSync(`/proc/self/fd/${pipe}`, flags);
      opened.push(descriptor);
      return descriptor;
    };
    const theirs: ProgramPipes["theirs"] = [
      input === undefined ? "ignore" : open(input, constants.O_RDONLY),
      open(output, constants.O_WRONLY),
      open(errors, constants.O_WRONLY),
    ];
    const ours = [
      open(output, constants.O_RDONLY | constants.O_NONBLOCK),
      open(errors, constants.O_RDONLY | constants.O_NONBLOCK),
      ...(input === undefined ? [] : [open(input, constants.O_WRONLY | constants.O_NONBLOCK)]),
    ] as const;
    return {
      theirs,
      stdin: ours[2] === undefined ? null : new Socket({ fd: ours[2], readable: false, writable: true }),
      stdout: new Socket({ fd: ours[0], readable: true, writable: false }),
      stderr: new Socket({ fd: ours[1], readable: true, writable: false }),
      closeTheirs: () => theirs.forEach((end) => end !== "ignore" && closeSync(end)),
    };
  } catch {
    for (const descriptor of opened) closeSync(descriptor);
    return null;
  } finally {
    for (const pipe of pipes) closeSync(pipe);
  }
}

const low = 6;

/** Pipes made ahead: Node can make none, and programs that can take longer to start than all else here. */
class PipeStock {
  #pipes: number[] = [];
  #making: Promise<number> | null = null;

  /** Takes so many pipes, each one descriptor open both ways; null where the system gives none. */
  async take(count: number): Promise<number[] | null> {
    while (this.#pipes.length < count) if (await this.#make() === 0) return null;
    const taken = this.#pipes.splice(0, count);
    this.fill();
    return taken;
  }

  /** Makes more where few are left. */
  fill(): void {
    if (this.#pipes.length < low) void this.#make();
  }

  /** Closes the pipes that no program took. */
  async drop(): Promise<void> {
    await this.#making;
    for (const pipe of this.#pipes.splice(0)) closeSync(pipe);
  }

  /** Resolves with the number of new ones. */
  #make(): Promise<number> {
    return this.#making ??= newPipes().then((made) => {
      this.#making = null;
      this.#pipes.push(...made);
      return made.length;
    });
  }
}

const stock = new PipeStock();

const parts = 17;

/** Each part of this pipeline tells its process, and ends with the input of the whole. */
const pipeline =
  "exec 3<&0 4>&1; hold() { exec 5<&0; read -r pid _ </proc/self/stat; echo $pid >&4; read -r _ <&3; }; " +
  Array.from({ length: parts }, () => "hold").join(" | ");

/** Takes the pipes of a shell's pipeline, which have no name, as a named one blocks; none without a shell. */
async function newPipes(): Promise<number[]> {
  const made: number[] = [];
  let told = "";
  try {
    const shell = spawn("/bin/sh", ["-c", pipeline], { stdio: ["pipe", "pipe", "ignore"], env: {} });
    shell.on("error", () => {});
    shell.stdin.on("error", () => {});
    // Read to the end: until then the shell holds both ends of each pipe, and no stream would end.
    for await (const text of shell.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      told += text;
      const pids = told.split("\n");
      if (pids.length <= parts) continue;
      made.push(...pids.flatMap((pid) => inputOf(pid) ?? []));
      shell.stdin.end();
    }
  } catch {
    // The program gets what the runtime has.
  }
  return made;
}

/** Opens the pipe from which a process reads; null where it reads from none. */
function inputOf(pid: string): number | null {
  try {
    const path = `/proc/${Number.parseInt(pid)}/fd/5`;
    return statSync(path).isFIFO() ? openSync(path, constants.O_RDWR) : null;
  } catch {
    return null;
  }
}
