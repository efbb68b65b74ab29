import type { OsWall, ProbedWall } from "./os-wall.ts";
import { findProgram, tryProgram } from "./try-program.ts";

/** `oom_score_adj` (proc_pid_oom_score_adj(5)) by util-linux `choom`, and a low priority by `nice`. */
export const priority: OsWall = {
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
