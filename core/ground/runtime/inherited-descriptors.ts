import type { ChildProcess } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { runtimeName } from "./platform.ts";

type Stream = "ignore" | "pipe";
type Seal = Stream | number;

/**
 * The streams of a program to start, and behind them a seal in place of every descriptor of this process's own parent
 * that the program would inherit: neither runtime can close those. On Node it is the null device, on Deno, which puts no
 * files there, a pipe that leads nowhere once {@link dropSeals} has closed this end.
 */
export function sealedStreams<S extends readonly Stream[]>(streams: S): [...S, ...Seal[]] {
  const numbers = inherited().filter((number) => number >= streams.length);
  const length = Math.max(0, ...numbers.map((number) => number + 1 - streams.length));
  const seal = numbers.length === 0 ? "ignore" : sealHere();
  const seals = Array.from({ length }, (_, at): Seal => (numbers.includes(at + streams.length) ? seal : "ignore"));
  return [...streams, ...seals];
}

/** Closes this end of what {@link sealedStreams} put behind so many streams. */
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

/** Looked up once: what the runtimes open themselves closes when a program is started. */
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

/** Each number below takes a place in a list; a shell's own copies lie at 10 to 255. */
const most = 1024;
const closeOnExec = 0o2000000;

function closesOnStart(number: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // It was open for the look alone.
    return true;
  }
}
