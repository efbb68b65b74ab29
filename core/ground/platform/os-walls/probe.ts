import { runtimeName } from "../engine/platform.ts";
import { bubblewrap } from "./bubblewrap.ts";
import { cgroup } from "./cgroup.ts";
import type { OsWall, OsWallName, ProbedWall } from "./os-wall.ts";
import { prlimit } from "./prlimit.ts";
import { findProgram, tryProgram } from "./try-program.ts";

/** One wall that contains a plugin on this machine, or is missing. */
export interface WallReport {
  name: string;
  /** `refused`: its program is installed, and the system does not let it work. */
  state: "active" | "missing" | "refused";
  /** Its effect, or why it does not work and what that costs. */
  detail: string;
  /** How to get it: one sentence, or lines for a shell of which each is enough. */
  remedy?: string;
}

/** `oom_score_adj` (proc_pid_oom_score_adj(5)) by util-linux `choom`, and a low priority by `nice`. */
const priority: OsWall = {
  name: "priority",
  does: "The kernel kills it before anything else when memory is short, and gives the host the processor first.",
  lacks: "Without it, a plugin competes with the host for memory and the processor.",
  probe,
};

/** The most there is: killed first. */
const oomScore = 1000;
/** About a third of the share of a program without it: an adapter must keep up with what its agent prints. */
const niceness = 5;

async function probe(): Promise<ProbedWall> {
  const [choom, nice] = await Promise.all([findProgram("choom"), findProgram("nice")]);
  if (choom === null || nice === null) {
    const missing = choom === null ? "choom" : "nice";
    return {
      active: false,
      reason: `${missing} was not found.`,
      remedy: "Install util-linux and coreutils (Linux only).",
    };
  }
  const prefix = ["-n", String(oomScore), "--", nice, "-n", String(niceness)];
  // Without a command `nice` prints the priority it has.
  const trial = await tryProgram(choom, [...prefix, nice]);
  if (!trial.works) {
    const reason = `choom failed: ${trial.why}.`;
    return { active: false, refused: true, reason, remedy: "Mount /proc for the host, writable." };
  }
  return {
    active: true,
    wrap: (command) =>
      Promise.resolve({ command: { ...command, file: choom, args: [...prefix, command.file, ...command.args] } }),
  };
}

const osWalls: readonly OsWall[] = [cgroup, priority, prlimit, bubblewrap];

let probed: Promise<ReadonlyMap<OsWallName, ProbedWall>> | null = null;

/** Availability of each mechanism on this machine; probed once per process. */
export function probeOsWalls(): Promise<ReadonlyMap<OsWallName, ProbedWall>> {
  return probed ??= Promise.all(osWalls.map(async (wall) => [wall.name, await wall.probe()] as const)).then((all) =>
    new Map(all)
  );
}

/** Every wall around a plugin of this host, the outermost last. */
export async function probeWalls(): Promise<WallReport[]> {
  const found = await probeOsWalls();
  return [
    { name: "compartment", state: "active", detail: "No ambient authority, fresh for each session." },
    { name: "worker thread", state: "active", detail: "Heap limit; ended when it does not answer." },
    { name: "process per plugin", state: "active", detail: "Memory and crashes stay with the plugin." },
    runtimeName === "deno"
      ? { name: "Deno permissions", state: "active", detail: "The process may read its own code alone." }
      : { name: "Node permission model", state: "active", detail: "It may read its own code, and start nothing." },
    ...[...osWalls].reverse().map(({ name, does, lacks }): WallReport => {
      const wall = found.get(name);
      if (wall === undefined || wall.active) return { name, state: "active", detail: does };
      const state = wall.refused ? "refused" : "missing";
      return { name, state, detail: `${wall.reason} ${lacks}`, remedy: wall.remedy };
    }),
  ];
}
