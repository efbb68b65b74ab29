import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { AttackReport } from "../../core/kit/attack/attack-case.ts";
import type { CanaryReport } from "../../core/kit/attack/canary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const onDeno = "Deno" in globalThis;

/**
 * Both runtimes allocate with glibc, which by default keeps what was freed in the process: after the whole corpus some
 * 75 MB. Asked to give it back, what the host has grown by is what it holds. malloc(3), mallopt(3).
 */
const givesBackMemory = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "65536", MALLOC_TRIM_THRESHOLD_: "131072" };

/** What a run of `bulkhead attack` came to, and what it left behind. */
export interface AttackRun {
  reports: AttackReport[];
  /** Null when the host did not live to the end. */
  summary: { held: number; fell: number; skipped: number; canary: CanaryReport; rss_growth_bytes: number } | null;
  exitCode: number | null;
  /** The end of what it wrote on standard error. */
  complaints: string;
  /** From its last word to its end: an open port, pipe or timer would hold it. Milliseconds. */
  lingeredMs: number;
  /** Paths in its folder for temporary files. */
  files: string[];
  /** Processes that were started from it and live on, by the folder they were given. */
  processes: string[];
}

/** Runs `bulkhead attack --json` as one host process of its own, with a folder of its own for temporary files. */
export async function runAttackProgram(args: readonly string[]): Promise<AttackRun> {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-corpus-")));
  const [file, ...before] = onDeno
    ? [process.execPath, "run", "-A", "--v8-flags=--expose-gc", join(root, "core/doors/cli/main.ts")]
    : [process.execPath, "--expose-gc", join(root, "dist/bundle/cli.js")];
  const child = spawn(file!, [...before, "attack", "--json", ...args], {
    cwd: temporary,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      DENO_DIR: process.env["DENO_DIR"],
      TMPDIR: temporary,
      ...givesBackMemory,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const run: AttackRun = {
    reports: [],
    summary: null,
    exitCode: null,
    complaints: "",
    lingeredMs: 0,
    files: [],
    processes: [],
  };
  child.stderr.setEncoding("utf8").on(
    "data",
    (text: string) => (run.complaints = (run.complaints + text).slice(-8000)),
  );
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  let lastWord = performance.now();
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      lastWord = performance.now();
      const said = JSON.parse(line) as AttackReport | { summary: NonNullable<AttackRun["summary"]> };
      if ("summary" in said) run.summary = said.summary;
      else run.reports.push(said);
    }
    run.exitCode = await exited;
    run.lingeredMs = Math.round(performance.now() - lastWord);
    run.files = await readdir(temporary, { recursive: true });
    run.processes = await processesNaming(temporary);
    return run;
  } finally {
    if (child.exitCode === null) child.kill("SIGKILL");
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Command lines of live processes that have the text in their environment, arguments or working directory. */
async function processesNaming(text: string): Promise<string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) =>
    /^\d+$/.test(name) && Number(name) !== process.pid
  );
  const rows = await Promise.all(pids.map(async (pid) => {
    const [environ, command, stat] = await Promise.all(
      ["environ", "cmdline", "stat"].map((name) => readFile(`/proc/${pid}/${name}`, "latin1").catch(() => "")),
    );
    const dead = /\) [ZX] /.test(stat ?? "");
    return !dead && `${environ}${command}`.includes(text) ? `${pid} ${command?.replaceAll("\0", " ")}` : "";
  }));
  return rows.filter((row) => row !== "");
}
