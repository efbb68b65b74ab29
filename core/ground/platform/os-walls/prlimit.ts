import process from "node:process";
import type { Command, Confinement, OsWall, ProbedWall, WrappedCommand } from "./os-wall.ts";
import { findProgram, tryProgram } from "./try-program.ts";

/** Hard limits by util-linux `prlimit` (getrlimit(2)), set before the program begins and inherited by its threads. */
export const prlimit: OsWall = {
  name: "prlimit",
  does: "Caps memory outside V8's heap and open files; no core dumps.",
  lacks: "Without it, memory outside V8's heap is bounded only by a check every 250 ms.",
  probe,
};

interface Ceilings {
  data: number;
  nofile: number;
  cpu: number;
}

const megabyte = 1024 * 1024;
/**
 * Memory that V8 after 12.4 (Node 24, Deno) maps writable for each isolate and hardly touches: the place for its machine
 * code.
 */
const codeRangeMb = newerV8(12, 4) ? 512 : 0;

async function probe(): Promise<ProbedWall> {
  const file = await findProgram("prlimit");
  if (file === null) {
    return { active: false, reason: "prlimit was not found.", remedy: "Install util-linux (Linux only)." };
  }
  // Limits can be lowered but not raised, so what the host itself is held to matters.
  const trial = await tryProgram(file, [
    "--core=0",
    file,
    "--core",
    "--data",
    "--nofile",
    "--cpu",
    "--output=RESOURCE,HARD",
    "--raw",
    "--noheadings",
  ]);
  if (!trial.works) {
    const reason = `prlimit failed: ${trial.why}.`;
    return { active: false, refused: true, reason, remedy: "Let the host lower its own limits." };
  }
  const hard = new Map(trial.stdout.trim().split("\n").map((row) => row.split(/\s+/) as [string, string]));
  if (hard.get("CORE") !== "0") {
    return { active: false, reason: "prlimit ran, but its limits did not hold.", remedy: "Update util-linux." };
  }
  const most: Ceilings = {
    data: bound(hard.get("DATA")),
    nofile: bound(hard.get("NOFILE")),
    cpu: bound(hard.get("CPU")),
  };
  return { active: true, wrap: (command, confinement) => Promise.resolve(wrap(command, confinement, { file, most })) };
}

function bound(text: string | undefined): number {
  return text === undefined || text === "unlimited" ? Infinity : Number(text);
}

function wrap(
  command: Command,
  confinement: Confinement,
  { file, most }: { file: string; most: Ceilings },
): WrappedCommand {
  const data = Math.min(dataBytes(confinement), most.data);
  const nofile = Math.min(openFiles(confinement), most.nofile);
  // Not RLIMIT_NPROC: it counts all processes of the user, the operator's own as well.
  const cpu = confinement.cpuSeconds === undefined ? [] : [`--cpu=${Math.min(confinement.cpuSeconds, most.cpu)}`];
  const args = [`--data=${data}`, `--nofile=${nofile}`, ...cpu, "--core=0", "--", command.file, ...command.args];
  return { command: { ...command, file, args } };
}

/**
 * Bytes of private writable memory (RLIMIT_DATA, which since Linux 4.7 covers mappings too). RLIMIT_AS would count
 * reserved addresses, of which V8 takes gigabytes. Never less than a runtime with its threads needs to start.
 */
export function dataBytes({ rssMb, workers }: Confinement): number {
  return (codeRangeMb * (workers + 1) + Math.max(rssMb, 128 + 32 * workers)) * megabyte;
}

function newerV8(thanMajor: number, thanMinor: number): boolean {
  const [major = 0, minor = 0] = (process.versions.v8 ?? "").split(".").map(Number);
  return major > thanMajor || (major === thanMajor && minor > thanMinor);
}

/** Descriptors: never less than a runtime (about 24) and its threads (up to 6 each) need to start. */
export function openFiles({ openFiles, workers }: Confinement): number {
  return Math.max(openFiles, 32 + 8 * workers);
}
