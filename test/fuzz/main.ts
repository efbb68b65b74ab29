import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Find, runFuzz } from "./run-fuzz.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, runs: { type: "string", default: "100000" }, only: { type: "string" } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 32);
const runs = Number(values.runs);
const keptFolder = join(process.cwd(), "test/fuzz/finds");
/** Of one target and run: most of many are the same fault. */
const mostKept = 5;
/** An input that takes longer has hung: nobody waits for it to come back. */
const hungMs = 30_000;

process.stdout.write(`fuzz --seed ${seed} --runs ${runs}${values.only ? ` --only ${values.only}` : ""}\n`);
const started = performance.now();
const watchdog = startWatchdog();
const finds = await runFuzz({
  seed,
  runs,
  ...(values.only === undefined ? {} : { only: values.only }),
  onInput: ({ run }) => watchdog.beat(run),
  onFind: (find) =>
    process.stdout.write(`FIND ${find.target}: ${find.problem}\n  ${JSON.stringify(find.input.slice(0, 300))}\n`),
});
await watchdog.stop();
for (const [index, find] of finds.entries()) {
  const before = finds.slice(0, index).filter(({ target }) => target === find.target).length;
  if (before < mostKept) await keep(find);
}
const seconds = (performance.now() - started) / 1000;
process.stdout.write(`${runs} inputs in ${seconds.toFixed(1)} s, ${finds.length} finds\n`);
process.exitCode = finds.length === 0 ? 0 : 1;

/** A find becomes a case that every test run tries again. */
async function keep(find: Find): Promise<void> {
  const hash = createHash("sha256").update(find.input).digest("hex").slice(0, 12);
  await mkdir(keptFolder, { recursive: true });
  await writeFile(join(keptFolder, `${find.target}-${hash}.json`), `${JSON.stringify(find, null, 2)}\n`);
}

/** Ends the process from another thread when an input never comes back, and says which one it was. */
function startWatchdog(): { beat(run: number): void; stop(): Promise<number> } {
  const shared = new SharedArrayBuffer(8);
  const runOf = new Int32Array(shared);
  const worker = new Worker(
    `const { workerData } = require("node:worker_threads");
    const fs = require("node:fs");
    const run = new Int32Array(workerData.shared);
    let last = -1, since = Date.now();
    setInterval(() => {
      const now = Atomics.load(run, 0);
      if (now !== last) { last = now; since = Date.now(); return; }
      if (Date.now() - since < workerData.hungMs) return;
      fs.writeSync(1, "HANG at input " + now + " of --seed " + workerData.seed + "\\n");
      process.kill(process.pid, "SIGKILL");
    }, 500);`,
    { eval: true, workerData: { shared, hungMs, seed } },
  );
  return { beat: (run) => Atomics.store(runOf, 0, run), stop: () => worker.terminate() };
}
