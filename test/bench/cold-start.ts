import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { adapterFolder } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";
import { programUrl } from "./programs/program-url.ts";

const onDeno = "Deno" in globalThis;

/**
 * A fresh process up to the agent's first event, beside the same runtime doing nothing. All of it counts: the start of
 * the runtime, loading the host, opening its journal, the plugin's script, its warden and its worker. The state folder
 * is one that was used before, as it is from the second session on; `first_ever` begins with none, where the script has
 * to be bundled and the journal to be made.
 */
export async function coldStart({ quick }: { quick: boolean }): Promise<Figure[]> {
  const rounds = quick ? 5 : 15;
  const workdir = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const idle: number[] = [];
  const cold = {
    thread: { first: [] as number[], inside: [] as number[], firstEver: [] as number[] },
    process: { first: [] as number[], inside: [] as number[], firstEver: [] as number[] },
  };
  for (let round = -1; round < rounds; round++) {
    const nothing = await timed(() => exitOf(start(onDeno ? ["eval", "0"] : ["-e", "0"])));
    if (round >= 0) idle.push(nothing);
    for (const isolation of ["thread", "process"] as const) {
      const { first, inside } = await firstEvent([isolation, adapterFolder, workdir, join(workdir, "state")]);
      const ever = await firstEvent([isolation, adapterFolder, workdir, join(workdir, `state-${isolation}-${round}`)]);
      if (round < 0) continue;
      cold[isolation].first.push(first);
      cold[isolation].inside.push(inside);
      cold[isolation].firstEver.push(ever.first);
    }
  }
  await rm(workdir, { recursive: true, force: true });
  const base = quantile(idle, 0.5);
  const of = (isolation: keyof typeof cold): Figure[] => {
    const first = quantile(cold[isolation].first, 0.5);
    return [
      { name: `cold.${isolation}.first_event`, value: first, unit: "ms" },
      { name: `cold.${isolation}.from_create_host`, value: quantile(cold[isolation].inside, 0.5), unit: "ms" },
      aimed({ name: `cold.${isolation}.ratio`, value: first / base, unit: "ratio" }, { most: 4 }),
      { name: `cold.${isolation}.first_ever`, value: quantile(cold[isolation].firstEver, 0.5), unit: "ms" },
    ];
  };
  return [{ name: "cold.runtime_alone", value: base, unit: "ms" }, ...of("thread"), ...of("process")];
}

async function firstEvent(args: string[]): Promise<{ first: number; inside: number }> {
  const started = performance.now();
  const program = fileURLToPath(programUrl("cold-program"));
  const child = start([...(onDeno ? ["run", "-A", program] : [program]), ...args]);
  let first = NaN;
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
    if (text === "") first = performance.now() - started;
    text += piece;
  });
  await exitOf(child);
  return { first, inside: Number(text) };
}

function start(args: string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("close", (code) => code === 0 ? resolve() : reject(new Error(`A program exited with code ${code}.`)));
  });
}
