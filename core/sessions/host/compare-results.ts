import type { Outcome, SessionResult, StopReason } from "../../../plugin-sdk/result.ts";

/** Outcome of one of several sessions. */
export interface ComparedSession {
  session_id: string;
  adapter_id: string;
  outcome: Outcome;
  stop_reason: StopReason;
  duration_ms: number;
  cost: number | null;
  currency: string | null;
  /** Input and output together; null while unknown. */
  tokens: number | null;
  /** Null where git cannot tell. */
  files_changed: number | null;
  lines_added: number | null;
  lines_removed: number | null;
  confidence: number | null;
}

/** A path that more than one session changed. */
export interface Overlap {
  path: string;
  session_ids: string[];
  /** True when all of them left the same content. */
  same: boolean;
}

/** Comparison of several sessions of one request. */
export interface Comparison {
  sessions: ComparedSession[];
  overlapping_files: Overlap[];
}

/** A session's result, and its changes as one patch; null where there is none. */
interface ResultWithPatch {
  result: SessionResult;
  patch: string | null;
}

/** Compares the outcomes of several sessions of one request, in their order. */
export function compareResults(results: readonly ResultWithPatch[]): Comparison {
  return { sessions: results.map(compared), overlapping_files: overlaps(results.map(({ result }) => result)) };
}

function compared({ result, patch }: ResultWithPatch): ComparedSession {
  const { usage, artifacts, artifacts_omitted = 0 } = result;
  const stat = patch === null || artifacts === null ? null : countLines(patch);
  return {
    session_id: result.session_id,
    adapter_id: result.provenance.adapter_id,
    outcome: result.outcome,
    stop_reason: result.stop_reason,
    duration_ms: usage.duration_ms,
    cost: usage.cost,
    currency: usage.currency,
    tokens: usage.tokens_in === null && usage.tokens_out === null
      ? null
      : (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0),
    files_changed: artifacts === null ? null : artifacts.length + artifacts_omitted,
    lines_added: stat?.added ?? null,
    lines_removed: stat?.removed ?? null,
    confidence: result.confidence,
  };
}

/** Counts the lines that a unified diff adds and removes, inside hunks, by the lengths in their headers. */
function countLines(patch: string): { added: number; removed: number } {
  const count = { added: 0, removed: 0 };
  let [before, after] = [0, 0];
  for (const line of patch.split("\n")) {
    if (before <= 0 && after <= 0) {
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      if (hunk) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    } else if (line.startsWith("+")) {
      count.added++;
      after--;
    } else if (line.startsWith("-")) {
      count.removed++;
      before--;
    } else if (!line.startsWith("\\")) {
      before--;
      after--;
    }
  }
  return count;
}

function overlaps(results: readonly SessionResult[]): Overlap[] {
  const byPath = new Map<string, { session_id: string; sha256: string | null }[]>();
  for (const { session_id, artifacts } of results) {
    for (const { path, sha256 } of artifacts ?? []) {
      byPath.set(path, [...byPath.get(path) ?? [], { session_id, sha256 }]);
    }
  }
  return [...byPath].filter(([, by]) => by.length > 1).map(([path, by]) => ({
    path,
    session_ids: by.map(({ session_id }) => session_id),
    same: new Set(by.map(({ sha256 }) => sha256)).size === 1,
  })).sort((a, b) => (a.path < b.path ? -1 : 1));
}
