import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { randomId, sha256Hex } from "../../ground/platform/files/hash.ts";
import { mergeStreams } from "../../../plugin-sdk/merge-streams.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { demandCandidate } from "../routing/demand-candidate.ts";
import { compareResults, type Comparison } from "./compare-results.ts";
import { derivedKey } from "./idempotency.ts";
import type { Host, ParallelRun, RunAllOptions } from "./host.ts";

/** Label that the sessions of one comparison share. */
export const comparisonLabel = "comparison";

/**
 * Runs one request on several adapters at once, each in its own worktree, so that none sees another's changes. Reading
 * yields the events of all sessions as they arrive, each session's in order.
 * @throws {BulkheadError} when none can take it: the first adapter's error
 */
export async function runAll(
  host: Pick<Host, "runSession" | "route" | "workspaces">,
  request: SessionRequest,
  { adapters, ...options }: RunAllOptions,
): Promise<ParallelRun> {
  if (adapters?.length === 0) demandCandidate({ candidates: [], passed_over: [] }, { wanted: adapters });
  const route = adapters === undefined
    ? await host.route({ adapter: "auto", request, require: options.require })
    : { candidates: adapters.map((adapter_id) => ({ adapter_id })), passed_over: [] };
  const ids = [...new Set(route.candidates.map(({ adapter_id }) => adapter_id))];
  const key = request.idempotency_key;
  // The same key must make the same request again.
  const together = (key === undefined ? randomId() : sha256Hex(key)).slice(0, 12);
  const own = (id: string): SessionRequest => ({
    ...request,
    workspace: "worktree",
    labels: { ...request.labels, [comparisonLabel]: together },
    ...(key === undefined ? {} : { idempotency_key: derivedKey(key, id) }),
  });
  const started = await Promise.allSettled(ids.map((id) => host.runSession(own(id), { ...options, adapter: id })));
  const sessions = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = started.flatMap((one, index) =>
    one.status === "rejected" ? [{ adapter_id: ids[index]!, reason: toErrorData(one.reason).message }] : []
  );
  if (sessions.length === 0) throw started.find((one) => one.status === "rejected")?.reason;
  const passed_over = [...route.passed_over.map(({ adapter_id, reason }) => ({ adapter_id, reason })), ...refused];
  const results = Promise.all(sessions.map((session) => session.result()));
  const comparison = results.then((all) => compareSessions(host, all));
  // A caller that reads only the events may ignore the comparison: do not report its rejection as unhandled.
  comparison.catch(() => {});
  return {
    sessions,
    passed_over,
    comparison,
    [Symbol.asyncIterator]: () => mergeStreams(...sessions.map((session) => session.events()))[Symbol.asyncIterator](),
  };
}

/** Compares sessions of one request that have ended, with the lines that each changed in its worktree. */
export async function compareSessions(
  { workspaces }: { workspaces: Pick<Host["workspaces"], "diff"> },
  results: readonly SessionResult[],
): Promise<Comparison> {
  const diffs = await Promise.all(results.map(({ session_id }) => workspaces.diff(session_id).catch(() => null)));
  return compareResults(results.map((result, index) => {
    const patch = diffs[index]?.patch;
    return { result, patch: patch === undefined ? null : new TextDecoder().decode(patch) };
  }));
}
