import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";

/** A condition that must hold after the demo. */
export interface DemoCheck {
  name: string;
  passed: boolean;
  /** The finding that broke the condition; empty when the check passed. */
  found: string;
}

/** All observations of the demo. */
export interface DemoEvidence {
  /** Results by adapter. */
  results: ReadonlyMap<string, SessionResult>;
  /** Envelopes of the three sessions as they came. */
  live: readonly Envelope[];
  /** The same envelopes, read again from the journal. */
  replayed: readonly Envelope[];
  /** The recording's events, as JSON. */
  recorded: readonly string[];
  /** Digests of the repository's files, by path; a missing file has none. */
  digests: ReadonlyMap<string, string>;
  /** The session that ran after the crash. */
  after: SessionResult;
}

/** Files that each honest session must have changed. */
export const expectedFiles: Readonly<Record<string, readonly string[]>> = {
  "repo-census": ["CENSUS.md"],
  "replay": ["docs/hello.txt", "greeting.txt", "hello.txt"],
};

/** Returns every check of the demo, in display order. */
export function demoChecks(evidence: DemoEvidence): DemoCheck[] {
  const { results, live, after } = evidence;
  return [
    check("memory-hog ended as a crash", endings(results.get("memory-hog"), "error/crash")),
    check("repo-census completed beside it", endings(results.get("repo-census"), "completed/end_turn")),
    check("replay completed beside it", endings(results.get("replay"), "completed/end_turn")),
    check("replay gave every recorded event, in order", recordedFaults(evidence)),
    check("each session's events run from 1 without a hole, with one start and one end", sequenceFaults(live)),
    check("the merged stream is strictly ordered", orderFaults(live)),
    check("the journal replays exactly what was live", replayFaults(evidence)),
    check("git shows the files that were changed, with their digests", artifactFaults(evidence)),
    check("the host is alive and ran one more session", endings(after, "completed/end_turn")),
  ];
}

function check(name: string, faults: string[]): DemoCheck {
  return { name, passed: faults.length === 0, found: faults.slice(0, 3).join("; ") };
}

function endings(result: SessionResult | undefined, expected: string): string[] {
  const ending = result === undefined ? "no result" : `${result.outcome}/${result.stop_reason}`;
  if (ending === expected) return [];
  return [`it ended as ${ending}${result?.error === undefined ? "" : `: ${result.error.message}`}`];
}

function recordedFaults({ live, recorded }: DemoEvidence): string[] {
  const given = live
    .filter(({ adapter, source, synthetic }) => adapter.id === "replay" && source === "agent" && synthetic !== true)
    .map(({ event }) => JSON.stringify(event));
  const at = recorded.findIndex((event, index) => event !== given[index]);
  if (at !== -1) return [`event ${at + 1} of ${recorded.length} differs: ${given[at] ?? "it is missing"}`];
  return given.length === recorded.length ? [] : [`${given.length} events instead of ${recorded.length}`];
}

function sequenceFaults(live: readonly Envelope[]): string[] {
  return [...bySession(live)].flatMap(([id, envelopes]) => {
    const name = envelopes[0]?.adapter.id ?? id;
    const hole = envelopes.findIndex(({ seq }, index) => seq !== index + 1);
    const types = envelopes.map(({ event }) => event.type);
    return [
      ...(hole === -1 ? [] : [`${name} has seq ${envelopes[hole]?.seq} at place ${hole + 1}`]),
      ...(types[0] === "session_started" ? [] : [`${name} begins with ${types[0]}`]),
      ...(types.indexOf("session_ended") === types.length - 1 ? [] : [`${name} goes on after its end`]),
    ];
  });
}

function orderFaults(live: readonly Envelope[]): string[] {
  const at = live.findIndex(({ gseq }, index) => index > 0 && gseq <= (live[index - 1]?.gseq ?? 0));
  return at === -1 ? [] : [`gseq ${live[at]?.gseq} follows ${live[at - 1]?.gseq}`];
}

function replayFaults({ live, replayed }: DemoEvidence): string[] {
  if (replayed.length !== live.length) return [`${replayed.length} events instead of ${live.length}`];
  const at = live.findIndex((envelope, index) => JSON.stringify(envelope) !== JSON.stringify(replayed[index]));
  return at === -1 ? [] : [`event ${at + 1} differs`];
}

function artifactFaults({ results, digests }: DemoEvidence): string[] {
  return Object.entries(expectedFiles).flatMap(([adapter, paths]) => {
    const artifacts = results.get(adapter)?.artifacts ?? [];
    return paths.flatMap((path) => {
      const artifact = artifacts.find((one) => one.path === path);
      if (artifact === undefined) return [`${adapter} lacks ${path}`];
      return artifact.sha256 === digests.get(path) ? [] : [`the digest of ${path} is not that of the file`];
    });
  });
}

function bySession(live: readonly Envelope[]): Map<string, Envelope[]> {
  const sessions = new Map<string, Envelope[]>();
  for (const envelope of live) {
    const known = sessions.get(envelope.session_id);
    if (known === undefined) sessions.set(envelope.session_id, [envelope]);
    else known.push(envelope);
  }
  return sessions;
}
