import { defaultLimits, type Limits } from "../../../core/ground/config/limits.ts";
import type { EntryEnd, LaneEntry } from "../../../core/walls/pool/lane-entry.ts";
import { PluginPool, type PoolOptions, type WorkerPlace } from "../../../core/walls/pool/plugin-pool.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";

/** An adapter whose session does what its prompt says; as the bundler would give it. */
export const script = `(() => {
  class Adapter {
    id = "made"; name = "Made"; version = "1.0.0"; capabilities = {}; accessModes = [];
    async initialize() {} async shutdown() {} async interrupt() {}
    async isAvailable() {} async healthCheck() {} async getAccessMode() {} async getCapabilities() {}
    validateModel() {} getRateLimitDetector() {}
    async *runSession({ prompt }, ctx) {
      if (prompt === "spin") for (;;);
      if (prompt === "grow") for (const all = [];;) all.push({ text: String(all.length) });
      if (prompt === "wait") await ctx.sleep(60_000);
      if (prompt === "throw late") { setTimeout(() => { throw new Error("late"); }, 1); await ctx.sleep(60_000); }
      if (prompt === "reject") void Promise.reject(new Error("nobody caught this"));
      if (prompt === "flood, then reject") {
        for (let n = 0; n < 2000; n++) yield { type: "output", stream: "stdout", data: String(n).padEnd(500) };
        void Promise.reject(new Error("nobody caught this"));
      }
      if (prompt.endsWith("reject")) await ctx.sleep(60_000);
      yield { type: "output", stream: "stdout", data: prompt };
    }
  }
  return { default: Adapter };
})()`;

/** Limits under which a test need not wait. */
export const quick: Partial<Limits> = {
  heartbeat_interval_ms: 50,
  heartbeat_timeout_ms: 2000,
  teardown_timeout_ms: 100,
  agent_grace_ms: 100,
  warden_grace_ms: 3000,
  restart_backoff_ms: 10,
  quarantine_crashes: 100,
  heap_mb: 48,
};

const pools: PluginPool[] = [];

/** A pool over the real guest and warden; {@link closePools} ends it. */
export function makePool(
  isolation: PoolOptions["isolation"],
  changes: Partial<Limits> = {},
  options: Partial<PoolOptions> = {},
): PluginPool {
  const pool = new PluginPool({
    pluginId: "made",
    isolation,
    limits: { ...defaultLimits, ...quick, ...changes },
    osWalls: defaultOsWallUses,
    script: () => Promise.resolve(script),
    ...options,
  });
  pools.push(pool);
  return pool;
}

/** Ends every pool of the test. */
export async function closePools(): Promise<void> {
  for (const pool of pools.splice(0)) await pool.close();
}

/** Opens a session on a place. With `slowMs`, the host takes that many milliseconds for each batch of events. */
export function open(
  { lane }: WorkerPlace,
  prompt: string,
  { slowMs = 0 } = {},
): LaneEntry & { events: unknown[] } {
  const events: unknown[] = [];
  const entry = lane.open({
    call: "run_session",
    request: { workdir: "/", prompt },
    config: { working_directory: "/", access_modes: [] },
    facts: { session_id: "s", attempt: 1, workdir: "/", plugin_dir: "/", platform: "linux" },
    onEvents: (batch) => {
      events.push(...batch);
      for (const from = performance.now(); performance.now() - from < slowMs;);
    },
    onCall: () => new Promise(() => {}),
  });
  return { ...entry, events };
}

/** Runs one session to its end on a place of its own. */
export async function run(pool: PluginPool, prompt: string): Promise<{ end: EntryEnd; events: unknown[] }> {
  const place = await pool.acquire();
  const { ended, events } = open(place, prompt);
  const end = await ended;
  place.release();
  return { end, events };
}

/** The code an acquire is refused with; fails when it is not. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(() => "none", (error: { code?: string }) => error.code ?? String(error));
}
