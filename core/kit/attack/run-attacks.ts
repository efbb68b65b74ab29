import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { collectGarbage } from "../../ground/platform/engine/collect-garbage.ts";
import { mkdir, rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { makeTemporaryFolder } from "../../ground/platform/files/temporary-folder.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import { ownUsage } from "../../ground/platform/processes/warden-side.ts";
import { type AttackCase, type AttackReport, baitServer, breach } from "./attack-case.ts";
import { type CanaryReport, startCanary } from "./canary.ts";
import { runAttack } from "./run-attack.ts";
import type { Isolation } from "../../packages/manifest/plugin.ts";
import type { Host } from "../../sessions/host/host.ts";

interface RunAttacksOptions {
  isolation?: Isolation;
  /** Attacks under way at once. Default 2. */
  parallel?: number;
  onReport?(report: AttackReport): void;
  signal?: AbortSignal;
}

/** Result of a whole run. */
export interface AttacksReport {
  attacks: AttackReport[];
  canary: CanaryReport;
  /** Growth of the host's memory over the run, in bytes; without what is garbage where that can be collected. */
  rss_growth_bytes: number;
}

/** Runs attacks against one host, beside a session that must lose nothing. */
export async function runAttacks(
  host: Host,
  cases: readonly AttackCase[],
  { isolation = "process", parallel = 2, onReport, signal }: RunAttacksOptions = {},
): Promise<AttacksReport> {
  const root = await makeTemporaryFolder("attacks");
  const workdir = join(root, "workdir");
  await mkdir(workdir);
  // Load these first: modules that the first attack loads once are no growth.
  await Promise.all([
    import("../../ground/platform/net/web-socket.ts"),
    import("../../ground/platform/net/loopback-sockets.ts"),
  ]);
  const canary = await startCanary(host, { folder: join(root, "canary"), workdir });
  const before = await residentBytes();
  const waiting = [...cases];
  const attacks: AttackReport[] = [];
  const again: { attack: AttackCase; first: AttackReport }[] = [];
  const tell = (report: AttackReport) => {
    attacks.push(report);
    onReport?.(report);
  };
  const run = async () => {
    for (let next = waiting.shift(); next && !signal?.aborted; next = waiting.shift()) {
      const report = await runAttack(host, next, { isolation });
      if (report.passed || report.through) tell(report);
      else again.push({ attack: next, first: report });
    }
  };
  try {
    await Promise.all(Array.from({ length: parallel }, run));
    // An outcome or a time that was not right beside other attacks counts when it is not right alone either.
    for (const { attack, first } of again) {
      const first_problem = first.problem ?? "";
      tell({ ...await runAttack(host, attack, { isolation }), first_problem });
    }
    const rss_growth_bytes = await residentBytes() - before;
    return { attacks, canary: await canary.stop(), rss_growth_bytes };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Returns the resident bytes once they stop falling. */
async function residentBytes(): Promise<number> {
  // The runtime gives freed pages back a moment later, and makes its young space smaller only when it has been idle.
  let least = ownUsage().rss_bytes;
  for (let calm = 0, rounds = 0; calm < 5 && rounds < 20 && collectGarbage(); rounds++) {
    await sleep(300);
    const { rss_bytes } = ownUsage();
    calm = rss_bytes < least - 1024 * 1024 ? 0 : calm + 1;
    least = Math.min(least, rss_bytes);
  }
  return least;
}

/** The host manifest of a host that attacks run against. */
export const attackManifest: HostManifest = {
  bulkhead: 1,
  plugins: {},
  tools: {},
  routing: { agent: "auto" },
  limits: {},
  mcp_servers: {
    [baitServer]: { url: "http://127.0.0.1:9/mcp", headers: { Authorization: `Bearer ${breach}` } },
  },
};
