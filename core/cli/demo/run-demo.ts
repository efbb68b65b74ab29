import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { Host } from "../../host/host.ts";
import { readFile } from "../../runtime/files.ts";
import { sha256Hex } from "../../runtime/hash.ts";
import { join } from "../../runtime/paths.ts";
import { type DemoCheck, demoChecks, type DemoEvidence, expectedFiles } from "./demo-checks.ts";
import { demoRequest, type DemoSession, demoSessions } from "./demo-sessions.ts";

/** How long a stream may take to give what must be in the journal already. */
const patienceMs = 10_000;

/** Options of {@link runDemo}. */
export interface RunDemoOptions {
  /** Working directory of all sessions. */
  workdir: string;
  /** Takes each envelope of the merged stream as it comes. */
  show(envelope: Envelope): Promise<void>;
  /** Interrupts the demo. */
  signal: AbortSignal;
}

/** What the demo came to. */
export interface DemoOutcome {
  /** A result for each session, in the order of {@link demoSessions}. */
  results: SessionResult[];
  /** Number of events of each session, by its id. */
  events: ReadonlyMap<string, number>;
  checks: DemoCheck[];
}

/**
 * Runs the three sessions at once, then one more, and checks what they left behind.
 * @throws {BulkheadError} `interrupted`, or why a session could not start
 */
export async function runDemo(host: Host, options: RunDemoOptions): Promise<DemoOutcome> {
  const { workdir, signal } = options;
  const { live, results } = await runAtOnce(host, options);
  signal.throwIfAborted();
  const replayed = await readEnded(host, { count: demoSessions.length, signal: AbortSignal.timeout(patienceMs) });
  const after = await runOneMore(host, { workdir, signal });
  const evidence: DemoEvidence = {
    results: new Map(results.map((result, index) => [demoSessions[index]?.adapter ?? "", result])),
    live,
    replayed,
    recorded: await readRecordedEvents(host),
    digests: await digestFiles(workdir),
    after,
  };
  const events = new Map<string, number>();
  for (const { session_id } of live) events.set(session_id, (events.get(session_id) ?? 0) + 1);
  return { results, events, checks: demoChecks(evidence) };
}

/** The three sessions, and the merged stream until all of them have ended. */
async function runAtOnce(
  host: Host,
  { workdir, show, signal }: RunDemoOptions,
): Promise<{ live: Envelope[]; results: SessionResult[] }> {
  const watching = new AbortController();
  const watched = readEnded(host, { count: demoSessions.length, signal: watching.signal, show });
  // A session that cannot start is what is reported, not what the stream then says.
  watched.catch(() => undefined);
  try {
    const started = await Promise.all(demoSessions.map((session) => start(host, { session, workdir, signal })));
    const results = await Promise.all(started.map((session) => session.result));
    const timer = setTimeout(() => watching.abort(), patienceMs);
    const live = await watched.finally(() => clearTimeout(timer));
    return { live, results };
  } finally {
    watching.abort();
  }
}

function start(
  host: Host,
  { session, workdir, signal }: { session: DemoSession; workdir: string; signal: AbortSignal },
): ReturnType<Host["runSession"]> {
  return host.runSession(demoRequest(session, workdir), { adapter: session.adapter, signal });
}

/** Everything from the journal's beginning until a number of sessions have ended. */
async function readEnded(
  host: Host,
  { count, signal, show }: { count: number; signal: AbortSignal; show?: RunDemoOptions["show"] },
): Promise<Envelope[]> {
  const read: Envelope[] = [];
  let ended = 0;
  for await (const envelope of host.events({ after: 0, signal })) {
    read.push(envelope);
    await show?.(envelope);
    if (envelope.event.type === "session_ended" && ++ended === count) break;
  }
  return read;
}

async function runOneMore(
  host: Host,
  { workdir, signal }: { workdir: string; signal: AbortSignal },
): Promise<SessionResult> {
  const request = { workdir, prompt: "Are you there?", params: { speed: 0 } };
  const session = await host.runSession(request, { adapter: "replay", signal });
  return await session.result;
}

async function readRecordedEvents(host: Host): Promise<string[]> {
  const folder = host.registry.get("replay")?.folder;
  if (folder === undefined) throw new BulkheadError("not_found", 'The bundled plugin "replay" was not found.');
  const text = await readFile(join(folder, "recordings", "edit-session.jsonl"), "utf8");
  return text.split("\n").filter((line) => line.includes('"event":')).map((line) => {
    const row: unknown = JSON.parse(line);
    return typeof row === "object" && row !== null && "event" in row ? JSON.stringify(row.event) : "";
  });
}

async function digestFiles(workdir: string): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const path of Object.values(expectedFiles).flat()) {
    const bytes = await readFile(join(workdir, path)).catch(() => null);
    if (bytes !== null) digests.set(path, sha256Hex(bytes));
  }
  return digests;
}
