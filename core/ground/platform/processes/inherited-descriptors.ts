import type { ChildProcess } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { runtimeName } from "../engine/platform.ts";

/** How a program gets one of its streams. */
export type StreamKind = "ignore" | "pipe" | "ipc";
type Seal = StreamKind | number;

/**
 * The streams of a program to start, followed by a seal that replaces every descriptor of this process's own parent that
 * the program would inherit: neither runtime can close those. On Node the seal is the null device; on Deno, which
 * cannot put files there, a pipe that leads nowhere once {@link dropSeals} has closed this end.
 */
export function sealedStreams<S extends readonly Seal[]>(streams: S): [...S, ...Seal[]] {
  const numbers = inherited().filter((number) => number >= streams.length);
  const length = Math.max(0, ...numbers.map((number) => number + 1 - streams.length));
  const seal = numbers.length === 0 ? "ignore" : sealHere();
  const seals = Array.from({ length }, (_, at): Seal => (numbers.includes(at + streams.length) ? seal : "ignore"));
  return [...streams, ...seals];
}

/** Closes this end of the seals that {@link sealedStreams} put after so many streams. */
export function dropSeals({ stdio }: ChildProcess, streams: number): void {
  for (const seal of stdio.slice(streams)) {
    seal?.on("error", () => {});
    seal?.destroy();
  }
}

let nullDevice: number | undefined;

function sealHere(): Seal {
  return runtimeName === "deno" ? "pipe" : nullDevice ??= openSync("/dev/null", "r+");
}

let known: readonly number[] | undefined;

/** Looked up once: descriptors that the runtimes open themselves close when a program is started. */
function inherited(): readonly number[] {
  return known ??= keptOpen();
}

/** Descriptors without O_CLOEXEC (proc_pid_fdinfo(5)); none where `/proc` cannot be read. */
function keptOpen(): number[] {
  let names: string[];
  try {
    names = readdirSync("/proc/self/fdinfo");
  } catch {
    return [];
  }
  return names.map(Number).filter((number) => number > 2 && number < most && !closesOnStart(number));
}

/** Each lower number takes a place in a list; a shell keeps its own copies at 10 to 255. */
const most = 1024;
const closeOnExec = 0o2000000;

function closesOnStart(number: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // This listing itself opened it.
    return true;
  }
}
