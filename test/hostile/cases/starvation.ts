import { readdir } from "../../../core/ground/platform/files/files.ts";
import { makeFifo } from "../../../core/ground/platform/files/fifo.ts";
import { startLoopback } from "../../../core/ground/platform/net/loopback-server.ts";
import { join } from "../../../core/ground/platform/files/paths.ts";
import { sleep } from "../../../core/ground/platform/engine/wait.ts";
import { processesIn } from "../../../core/ground/platform/processes/process-rows.ts";
import type { AttackCase, AttackPlace } from "../../../core/kit/attack/attack-case.ts";
import { refusedTries } from "./refused-tries.ts";

const shell = { run: [{ binary: "sh", args: ["-c {*}"] }] };

/** Corpus group H: taking what all plugins and the host share. */
export const starvationCases: readonly AttackCase[] = [
  {
    id: "H1",
    name: "busy-processor",
    attack: "Keeps a core busy while it answers every sign of life.",
    body: `
    const spin = () => { const end = Date.now() + 40; while (Date.now() < end); setTimeout(spin, 0); };
    for (let n = 0; n < 4; n++) spin();
    await ctx.sleep(60_000);`,
    // On a busy machine no process has a core to itself for long: then the sum of the used time decides.
    limits: { cpu_burst_ms: 1500, cpu_ms: 2500, timeout_ms: 30_000, idle_timeout_ms: 30_000 },
    expected: {
      kind: "any",
      of: [
        { kind: "killed", codes: ["crash", "unresponsive", "limit_exceeded"] },
        { kind: "error", codes: ["limit_exceeded"] },
      ],
    },
    notInThread: "How busy a thread is cannot be told from what else the host does; the total deadline alone ends it.",
    withinMs: 25_000,
  },
  {
    id: "H2",
    name: "no-workers",
    attack: "Looks for threads, workers and processes of its own.",
    body: `
    const names = ["Worker", "SharedWorker", "ServiceWorker", "MessageChannel", "BroadcastChannel", "SharedArrayBuffer",
      "Atomics", "WebAssembly", "navigator", "localStorage", "sessionStorage", "caches", "indexedDB", "Deno", "process"];
    const found = names.filter((name) => typeof globalThis[name] !== "undefined");
    if (found.length > 0) yield { type: "progress", message: "BREACH " + found.join() };`,
    expected: { kind: "harmless" },
    withinMs: 10_000,
  },
  {
    id: "H3",
    name: "dear-calls",
    attack: "Makes calls that cost the host more than the adapter: long paths, listings, refused arguments.",
    permissions: { read: ["workdir"], kv: true },
    limits: { timeout_ms: 20_000 },
    body: `
    const long = "a/".repeat(2000);
    for (let turn = 0; turn < 10; turn++) {
      await Promise.allSettled(Array.from({ length: 60 }, (_, n) =>
        n % 3 === 0 ? ctx.fs.readText(long + n) : n % 3 === 1 ? ctx.fs.list(".") : ctx.kv.list("..")));
    }`,
    expected: { kind: "harmless" },
    withinMs: 30_000,
  },
  refusedTries({
    id: "H3",
    name: "many-calls-at-once",
    attack: "Has more calls under way than a session may.",
    permissions: { read: ["workdir"] },
    limits: { calls_in_flight: 8 },
    tries: [{
      act: "await Promise.all(Array.from({ length: 200 }, () => ctx.fs.list('.')))",
      codes: ["limit_exceeded", "busy"],
    }],
  }),
  {
    id: "H4",
    name: "hanging-files",
    attack: "Reads many pipes without a writer, to hold the threads that do all file calls of the host.",
    permissions: { read: ["workdir"] },
    limits: { timeout_ms: 15_000 },
    stage: async (place) => {
      await makeFifo(join(place.workdir, "pipe"));
      return {};
    },
    body: `
    for (let turn = 0; turn < 5; turn++) {
      const all = await Promise.allSettled(Array.from({ length: 60 }, () => ctx.fs.readText("pipe")));
      if (all.some(({ status }) => status === "fulfilled")) yield { type: "progress", message: "BREACH: a pipe was read" };
    }`,
    expected: { kind: "harmless" },
    withinMs: 20_000,
  },
  refusedTries({
    id: "H5",
    name: "descriptors",
    attack: "Opens responses and programs until the host has no descriptor left.",
    limits: { timeout_ms: 20_000, children: 3 },
    stage: async () => {
      const server = await startLoopback(() => ({ body: drip() }));
      return {
        params: { at: `http://127.0.0.1:${server.port}/` },
        permissions: { ...shell, net: [`127.0.0.1:${server.port}`] },
        close: () => server.close(),
      };
    },
    prepare: `
    const held = [];
    const hold = async (open) => { for (let n = 0; n < 200; n++) held.push(await open()); };`,
    tries: [
      { act: "await hold(() => ctx.fetch(stage.at))", codes: ["limit_exceeded"] },
      { act: "await hold(() => ctx.run('sh', ['-c', 'sleep 60']))", codes: ["limit_exceeded"] },
    ],
  }),
  refusedTries({
    id: "H6",
    name: "disk",
    attack: "Fills the disk with temporary files, a store and files of the plugin's own.",
    permissions: { kv: true, read: ["data"], write: ["data"] },
    limits: { file_bytes: 100_000, temp_bytes: 300_000, kv_bytes: 50_000, timeout_ms: 20_000 },
    prepare: "const many = async (write) => { for (let n = 0; n < 3000; n++) await write(n); };",
    tries: [
      { act: "await ctx.temp.write('one', 'x'.repeat(100001))", codes: ["too_large"] },
      { act: "await many((n) => ctx.temp.write('f' + n, 'x'.repeat(90000)))", codes: ["limit_exceeded"] },
      { act: "await many((n) => ctx.kv.set('k' + n, 'x'.repeat(1000)))", codes: ["limit_exceeded"] },
      { act: "await ctx.fs.writeText('data:big', 'x'.repeat(100001))", codes: ["too_large"] },
      { act: "await ctx.temp.write('../escaped', 'x')", codes: ["invalid_request"] },
      { act: "await ctx.temp.write('.hidden', 'x')", codes: ["invalid_request"] },
    ],
  }),
  refusedTries({
    id: "H6",
    name: "many-temporary-files",
    attack: "Uses up the file system's entries with empty temporary files.",
    limits: { timeout_ms: 60_000, idle_timeout_ms: 60_000 },
    tries: [{
      act: "await (async () => { for (let n = 0; n < 1100; n++) await ctx.temp.write('f' + n, ''); })()",
      codes: ["limit_exceeded"],
    }],
    withinMs: 60_000,
  }),
  refusedTries({
    id: "H7",
    name: "many-programs",
    attack: "Starts more programs at once, and more in a minute, than a session may.",
    permissions: { run: [...shell.run, { binary: "true" }] },
    limits: { children: 2, child_starts_per_minute: 10, timeout_ms: 20_000 },
    tries: [
      {
        act: "await Promise.all(Array.from({ length: 30 }, () => ctx.run('sh', ['-c', 'sleep 60'])))",
        codes: ["limit_exceeded"],
      },
      {
        act: "await (async () => { for (let n = 0; n < 50; n++) await (await ctx.run('true', [])).exit; })()",
        codes: ["limit_exceeded"],
      },
    ],
  }),
  {
    id: "H7",
    name: "fork-burst",
    attack: "A program starts many others, in groups and sessions of their own, and ends.",
    permissions: shell,
    limits: { timeout_ms: 20_000 },
    stage: (place) => Promise.resolve({ reached: () => survivors(place) }),
    body: `
    const script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do " +
      "(sleep 300 & echo $! > pid-a$n); setsid sh -c 'echo $$ > pid-b'$n'; exec sleep 300' & done; while [ ! -e pid-b20 ]; do sleep 0.05; done";
    await (await ctx.run("sh", ["-c", script])).exit;`,
    expected: { kind: "harmless" },
    withinMs: 25_000,
  },
  {
    id: "H7",
    name: "fork-bomb",
    attack: "Processes that start two more each, in sessions of their own, until there are many.",
    permissions: shell,
    limits: { processes: 30, timeout_ms: 20_000 },
    stage: (place) => Promise.resolve({ reached: () => survivors(place) }),
    // It ends by itself: a machine on which the wall has fallen should live to tell.
    body: `
    const bomb = "echo $$ > pid-$$; n=$1; if [ $n -gt 0 ]; then n=$((n-1)); " +
      "setsid sh ./bomb $n & setsid sh ./bomb $n & fi; exec sleep 30";
    const child = await ctx.run("sh", ["-c", "printf '%s' '" + bomb + "' > bomb; exec sh ./bomb 5"]);
    await child.exit;
    let code = null;
    try { await ctx.run("sh", ["-c", "true"]); } catch (error) { code = error.code; }
    if (code !== "limit_exceeded") throw new Error("the next program gave " + code);`,
    expected: { kind: "harmless" },
    withinMs: 25_000,
  },
  {
    id: "H8",
    name: "orphans",
    attack: "A program's grandchildren leave its group, its session and its parent, and ignore being asked to end.",
    permissions: shell,
    stage: (place) => Promise.resolve({ reached: () => survivors(place) }),
    body: `
    const inner = "trap '' TERM HUP INT; echo $$ > pid-daemon; while :; do sleep 0.1; done";
    const script = "setsid setsid sh -c \\"" + inner.replaceAll("$", "\\\\$") + "\\" >/dev/null 2>&1 & ${
      awaited("pid-daemon")
    }; exit 0";
    await (await ctx.run("sh", ["-c", script])).exit;`,
    expected: { kind: "harmless" },
    withinMs: 20_000,
  },
  {
    id: "H9",
    name: "deaf-and-stopped",
    attack: "Programs ignore SIGTERM, and stop themselves so that no signal but SIGKILL is taken.",
    permissions: shell,
    stage: (place) => Promise.resolve({ reached: () => survivors(place) }),
    body: `
    await ctx.run("sh", ["-c", "trap '' TERM; echo $$ > pid-deaf; while :; do sleep 0.1; done"]);
    await ctx.run("sh", ["-c", "echo $$ > pid-stopped; kill -STOP $$; sleep 300"]);
    await (await ctx.run("sh", ["-c", "${awaited("pid-deaf", "pid-stopped")}"])).exit;`,
    expected: { kind: "harmless" },
    withinMs: 20_000,
  },
  {
    id: "H10",
    name: "output-unread",
    attack: "Programs print forever, without a reader.",
    permissions: shell,
    stage: (place) => Promise.resolve({ reached: () => survivors(place) }),
    body: `
    await ctx.run("sh", ["-c", "echo $$ > pid-out; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"]);
    await ctx.run("sh", ["-c", "echo $$ > pid-err; exec yes >&2"]);
    await (await ctx.run("sh", ["-c", "${awaited("pid-out", "pid-err")}"])).exit;
    await ctx.sleep(1000);`,
    expected: { kind: "harmless" },
    withinMs: 20_000,
  },
];

/** Programs that noted in files `pid-…` that they run, and live: those of a PID namespace know their pids in it alone. */
async function survivors({ workdir }: AttackPlace): Promise<string | null> {
  const names = (await readdir(workdir)).filter((name) => name.startsWith("pid-"));
  if (names.length === 0) throw new Error("The programs did not start.");
  let [survivor] = processesIn(workdir);
  // The system takes away what was ended a moment later.
  for (let round = 0; round < 50 && survivor !== undefined; round++) {
    await sleep(20);
    [survivor] = processesIn(workdir);
  }
  return survivor === undefined ? null : `The program ${survivor} lives on.`;
}

/** A shell's words that wait until all files are there. */
function awaited(...files: string[]): string {
  return files.map((file) => `while [ ! -e ${file} ]; do sleep 0.05; done`).join("; ");
}

async function* drip(): AsyncGenerator<string> {
  for (;;) {
    yield ".";
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
