import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { createRegistry } from "../../packages/registry/registry.ts";
import { toldProblems } from "../../sessions/host/plugin-problems.ts";
import { demandOwnState } from "../../sessions/host/state/state-folder.ts";
import type { DaemonRecord } from "./daemon-record.ts";
import { clusterProblem } from "./join-cluster.ts";
import { listen } from "./listen.ts";

interface CheckStartOptions {
  /** The host manifest that the next daemon reads; undefined where there is none. */
  manifest: HostManifest | undefined;
  root: string;
  stateDir: string;
  /** Overrides the host manifest's port. */
  port: number | undefined;
  /** The daemon that will be stopped. */
  running: Pick<DaemonRecord, "address">;
}

/**
 * Tries what a daemon needs to start while another one still runs, so that a restart does not become an outage.
 * @returns why plugins could not be used by the next daemon: it would start without them
 * @throws {BulkheadError} why it could not start: `busy` for a port that another program has, `unavailable` for servers
 * of a cluster, `io_error`
 */
export async function checkStart(
  { manifest, root, stateDir, port, running }: CheckStartOptions,
): Promise<BulkheadError[]> {
  await demandOwnState(stateDir);
  // Without a port of the operator's the next daemon takes any free one.
  const wanted = port ?? manifest?.daemon?.port ?? 0;
  if (wanted !== 0 && wanted !== Number(new URL(running.address).port)) await demandFreePort(wanted);
  const problem = await clusterProblem(manifest);
  if (problem !== null) throw new BulkheadError("unavailable", `Cannot join the cluster: ${problem}`);
  return toldProblems((await createRegistry({ manifest, root })).problems);
}

async function demandFreePort(port: number): Promise<void> {
  const answer = () => Promise.resolve(new Response(null, { status: 503 }));
  const listening = await listen({ port, sockets: [], limits: defaultLimits, answer, onStall: () => {} });
  await listening.close();
}
