import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, type Host } from "bulkhead";
import { adapterFolder } from "./bench-host.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

const sessions = 200;
const eventsEach = 500;

/** Making a host on a state folder whose journal holds 100,000 events, beside one that is empty. */
export async function startUp({ quick }: { quick: boolean }): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-bench-"));
  const full = join(folder, "full");
  try {
    await fill(full, folder);
    const rounds = quick ? 5 : 15;
    const times = { empty: [] as number[], full: [] as number[], list: [] as number[] };
    for (let round = -1; round < rounds; round++) {
      const empty = await opened(join(folder, `empty-${round}`), folder);
      const filled = await opened(full, folder);
      if (round < 0) continue;
      times.empty.push(empty.open);
      times.full.push(filled.open);
      times.list.push(filled.list);
    }
    const { size } = await stat(join(full, "host-1", "journal.db"));
    return [
      { name: "start_up.empty", value: quantile(times.empty, 0.5), unit: "ms" },
      aimed({ name: "start_up.100k_events", value: quantile(times.full, 0.5), unit: "ms" }, { most: 2000 }),
      { name: "start_up.100k_events.list_50", value: quantile(times.list, 0.5), unit: "ms" },
      { name: "start_up.100k_events.journal", value: size / 1024 / 1024, unit: "mb" },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function fill(stateDir: string, root: string): Promise<void> {
  const host = await createHost({ bundledDir: null, stateDir, root });
  await host.registry.register(adapterFolder, { trusted: true, isolation: "thread" });
  const prompt = `arrays ${eventsEach}`;
  for (let session = 0; session < sessions; session++) {
    const request = { workdir: root, prompt, retry: "never" as const };
    await (await host.runSession(request, { adapter: "bench", artifacts: "none" })).result();
  }
  await host.close();
}

async function opened(stateDir: string, root: string): Promise<{ open: number; list: number }> {
  let host: Host | null = null;
  const open = await timed(async () => host = await createHost({ bundledDir: null, stateDir, root }));
  const list = await timed(async () => await host!.sessions.list({ limit: 50 }));
  await host!.close();
  return { open, list };
}
