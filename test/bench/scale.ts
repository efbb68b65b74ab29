import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { createHost, loadHostManifest } from "bulkhead";
import { adapterFolder, benchHost } from "./bench-host.ts";
import { type Figure, residentMb, timed } from "./measure.ts";
import { partsOf } from "./parts.ts";
import { treeMemory } from "./peers/processes.ts";

/** Events of one session while a large journal is written. */
const sessionEvents = 10_000;

/** Parts that can be run alone. */
const parts: Record<string, (amount: { quick: boolean; long: boolean }) => Promise<Figure[]>> = {
  async journal({ quick, long }) {
    const sizes = quick ? [100_000] : long ? [1_000_000, 5_000_000] : [1_000_000];
    const figures: Figure[] = [];
    for (const events of sizes) figures.push(...await largeJournal(events));
    return figures;
  },
  plugins: () => manyPlugins(100),
  live: ({ quick }) => liveSessions(quick ? 200 : 1000),
};

/** A host on a large journal, with many plugins and with many sessions at once; or one `part` of these. */
export async function scale(
  { part, ...amount }: { quick: boolean; long: boolean; part?: string | undefined },
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [, run] of partsOf(parts, part)) figures.push(...await run(amount));
  return figures;
}

/** Opens the state folder of its argument in a process of its own, and prints what that cost. */
const open = `
import { createHost } from "bulkhead";
const [, folder, state, last] = process.argv;
const ms = async (work) => { const from = performance.now(); await work(); return performance.now() - from; };
const one = async (query) => { for await (const _ of host.events(query)) break; };
let host;
const start = await ms(async () => host = await createHost({ bundledDir: null, stateDir: state, root: folder }));
const list = await ms(() => host.sessions.list({ limit: 50 }));
const page = await ms(() => one({ after: Math.floor(Number(last) / 2) }));
gc(); gc();
const rss = process.memoryUsage.rss() / 1024 / 1024;
const close = await ms(() => host.close());
console.log(JSON.stringify({ start, list, page, close, rss }));
`;

async function largeJournal(events: number): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const state = join(folder, "state");
  try {
    const last = await written(folder, { state, events });
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...("Deno" in globalThis ? ["eval", "--v8-flags=--expose-gc"] : ["--expose-gc", "--input-type=module", "-e"]),
      open,
      folder,
      state,
      String(last),
    ]);
    const costs = JSON.parse(stdout) as Record<"start" | "list" | "page" | "close" | "rss", number>;
    return Object.entries(costs).map(([name, value]): Figure => ({
      name: `scale.events_${events}.${name}`,
      value,
      unit: name === "rss" ? "mb" : "ms",
    }));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Fills a journal by sessions; returns the last event's number. */
async function written(folder: string, { state, events }: { state: string; events: number }): Promise<number> {
  const workdir = join(folder, "work");
  await mkdir(workdir);
  // Retention would remove the first sessions before the last are written.
  await writeFile(join(folder, "bulkhead.yaml"), "bulkhead: 1\njournal: { max_bytes: 100000000000 }\n");
  const manifest = await loadHostManifest({ config: join(folder, "bulkhead.yaml"), from: folder }) ?? undefined;
  const host = await createHost({ manifest, bundledDir: null, stateDir: state, root: folder });
  await host.registry.register(adapterFolder, { trusted: true, isolation: "thread" });
  const request = { workdir, prompt: `arrays ${sessionEvents}`, retry: "never" as const };
  for (let n = 0; n < events / sessionEvents; n++) {
    await (await host.runSession(request, { adapter: "bench", artifacts: "none" })).result();
  }
  await host.close();
  return events;
}

/** The start of a host with so many plugins, and the list of its agents. */
async function manyPlugins(count: number): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  try {
    const text = await readFile(join(adapterFolder, "plugin.yaml"), "utf8");
    const names = Array.from({ length: count }, (_, n) => `bench-${n}`);
    for (const name of names) {
      const plugin = join(folder, "plugins", name);
      await cp(adapterFolder, plugin, { recursive: true });
      await writeFile(join(plugin, "plugin.yaml"), text.replace("id: bench", `id: ${name}`));
    }
    await writeFile(
      join(folder, "bulkhead.yaml"),
      `bulkhead: 1\nplugins:\n${names.map((name) => `  ${name}: { enabled: true }\n`).join("")}`,
    );
    const manifest = await loadHostManifest({ config: join(folder, "bulkhead.yaml"), from: folder }) ?? undefined;
    const before = residentMb();
    let host!: Awaited<ReturnType<typeof createHost>>;
    const start = await timed(async () => {
      host = await createHost({ manifest, bundledDir: null, stateDir: join(folder, "state"), root: folder });
    });
    const list = await timed(() => host.sessions.agents());
    const after = residentMb();
    const { rss, processes } = await treeMemory(process.pid);
    await host.close();
    return [
      { name: `scale.plugins_${count}.start`, value: start, unit: "ms" },
      { name: `scale.plugins_${count}.agents`, value: list, unit: "ms" },
      { name: `scale.plugins_${count}.rss`, value: after - before, unit: "mb" },
      { name: `scale.plugins_${count}.all_rss`, value: rss, unit: "mb" },
      { name: `scale.plugins_${count}.processes`, value: processes, unit: "count" },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Sessions of one plugin that all wait at the same time. */
async function liveSessions(count: number): Promise<Figure[]> {
  const limits = { workers: Math.ceil(count / 64), sessions_per_worker: 64 };
  await using bench = await benchHost("process", { limits });
  const before = residentMb();
  const started = await timed(async () => {
    const sessions = await Promise.all(Array.from({ length: count }, () => bench.start("wait")));
    await Promise.all(sessions.map(async (session) => {
      for await (const { event } of session.events()) if (event.type === "progress") break;
    }));
  });
  const list = await timed(() => bench.host.sessions.list({ limit: 50 }));
  const after = residentMb();
  return [
    { name: `scale.live_${count}.started`, value: started, unit: "ms" },
    { name: `scale.live_${count}.list`, value: list, unit: "ms" },
    { name: `scale.live_${count}.rss_per_session`, value: (after - before) / count, unit: "mb" },
  ];
}
