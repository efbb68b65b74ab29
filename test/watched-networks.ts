import { readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Packets of an interface since it is there. */
interface Packets {
  received: number;
  sent: number;
}

/** A network that processes were in: the last that was read of each of its interfaces. */
export interface WatchedNetwork {
  /** Whether it is that of this process. */
  isOurs: boolean;
  interfaces: Record<string, Packets>;
}

/**
 * Reads the counters of the networks of some processes, again and again until the signal. A process that is seen twice in a
 * network is in it, and not on its way to another.
 */
export async function watchNetworks(
  pids: () => Promise<readonly number[]>,
  signal: AbortSignal,
): Promise<WatchedNetwork[]> {
  const seen = new Map<string, WatchedNetwork>();
  const ours = await readlink("/proc/self/ns/net");
  let before = new Set<string>();
  while (!signal.aborted) {
    const now = new Set<string>();
    for (const pid of await pids()) {
      const id = await readlink(`/proc/${pid}/ns/net`).catch(() => null);
      const table = await readFile(`/proc/${pid}/net/dev`, "latin1").catch(() => "");
      const interfaces = packetsIn(table);
      if (id === null || Object.keys(interfaces).length === 0) continue;
      now.add(`${pid} ${id}`);
      if (!before.has(`${pid} ${id}`)) continue;
      seen.set(id, { isOurs: id === ours, interfaces: { ...seen.get(id)?.interfaces, ...interfaces } });
    }
    before = now;
    await sleep(20);
  }
  return [...seen.values()];
}

/** Reads the rows of `/proc/net/dev`: after the name come eight counters of what was received, and eight of what was sent. */
function packetsIn(table: string): Record<string, Packets> {
  return Object.fromEntries([...table.matchAll(/^\s*([\w.-]+):(.*)$/gm)].map(([, name = "", row = ""]) => {
    const counters = row.trim().split(/\s+/).map(Number);
    return [name, { received: counters[1] ?? NaN, sent: counters[9] ?? NaN }];
  }));
}
