/** Something that an agent's program tries in order to leave its walls. */
export interface AgentEscape {
  /** Letter of its group, and a number. */
  id: string;
  /** Its aim, in a few words. */
  name: string;
  /**
   * Shell script. It prints `ESCAPED` when it got through. Variables: `HOME`, `OUTSIDE` (another project), `STATE` (the
   * host's), `PORT` and `UDP_PORT` (a server of this machine), `VICTIM` (pid of a process of the same user), `SOCKET` (a
   * unix socket of the same user), `PLUGIN`, `RUNTIME`, `HOST` (pid), `ADDRESS` (of this machine in its network) and
   * `ALLOWED_PORT` (a granted server); `PROXY` is the address of the session's proxy, with its password.
   */
  script: string;
  /** Files of the stage that must be what they were, or absent. Relative to the stage's root. */
  untouched?: readonly string[];
  /** A trace besides files that it would leave. */
  leaves?: "shared memory" | "a process";
  /** Program that the script needs besides the shell. */
  needs?: "perl" | "git" | "curl";
  /** Whether it succeeds with `contain: off` on every machine: the proof that it can. */
  control?: true;
}

/** Result of one. */
export interface EscapeReport {
  id: string;
  name: string;
  /** `told`: what it left was named before anything could start it. */
  outcome: "held" | "told" | "escaped" | "skipped";
  /** Last output of the script; for a skipped one the reason. */
  detail: string;
  duration_ms: number;
}

interface RunOptions {
  signal?: AbortSignal;
  onReport?(report: EscapeReport): void;
}

/** Outcome of an attack, and its last output or the reason. */
type Verdict = [EscapeReport["outcome"], string];

/** Runs attacks one after the other until the signal aborts. */
export async function runEach<T extends { id: string; name: string }>(
  attacks: readonly T[],
  { signal, onReport }: RunOptions,
  run: (attack: T) => Promise<Verdict>,
): Promise<EscapeReport[]> {
  const reports: EscapeReport[] = [];
  for (const attack of attacks) {
    if (signal?.aborted) break;
    const started = Date.now();
    const [outcome, detail] = await run(attack);
    const report = { id: attack.id, name: attack.name, outcome, detail, duration_ms: Date.now() - started };
    onReport?.(report);
    reports.push(report);
  }
  return reports;
}
