import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { readFile } from "../../../ground/platform/files/files.ts";
import { sha256Hex } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { type DemoCheck, demoChecks, type DemoEvidence, expectedFiles } from "./demo-checks.ts";
import { demoRequest, demoSessions } from "./demo-sessions.ts";

/** How long a stream may take to give events that must be in the journal already. */
const patienceMs = 10_000;

interface RunDemoOptions {
  /** Working directory of all sessions. */
  workdir: string;
  /** Takes each envelope of the merged stream as it comes. */
  show(envelope: Envelope): Promise<void>;
  signal: AbortSignal;
}

/** Result of the demo. */
export interface DemoOutcome {
  /** A result for each session, in the order of {@link demoSessions}. */
  results: SessionResult[];
  /** Number of events of each session, by its id. */
  events: ReadonlyMap<string, number>;
  checks: DemoCheck[];
}

/** The host operations that the demo uses, in this process or behind its API. */
export interface DemoHost {
  sessions: SessionHost;
  /** Folder of a plugin; undefined when the host has none with that id. */
  pluginFolder(id: string): Promise<string | undefined>;
}

/**
 * Runs the three sessions at once, then one more, and collects the evidence that they left.
 * @throws {BulkheadError} `interrupted`, or why a session could not start
 */
export async function runDemo(host: DemoHost, options: RunDemoOptions): Promise<DemoOutcome> {
  const { workdir, signal } = options;
  const { sessions } = host;
  const after = await newestCursor(sessions);
  const started = await Promise.all(
    demoSessions.map((session) => sessions.start(demoRequest(session, workdir), { adapter: session.adapter, signal })),
  );
  const ids = started.map(({ id }) => id);
  const live = await readToTheirEnds(sessions, { ids, after, signal, show: options.show });
  signal.throwIfAborted();
  const results = await Promise.all(started.map((session) => session.result()));
  const patience = AbortSignal.timeout(patienceMs);
  const replayed = await readToTheirEnds(sessions, { ids, after, signal: patience });
  const evidence: DemoEvidence = {
    results: new Map(results.map((result, index) => [demoSessions[index]?.adapter ?? "", result])),
    live,
    replayed,
    recorded: await readRecordedEvents(host),
    digests: await digestFiles(workdir),
    after: await runOneMore(sessions, { workdir, signal }),
  };
  const events = new Map<string, number>();
  for (const { session_id } of live) events.set(session_id, (events.get(session_id) ?? 0) + 1);
  return { results, events, checks: demoChecks(evidence) };
}

/** Returns a cursor of the merged stream that precedes every event of a future session. */
async function newestCursor(sessions: SessionHost): Promise<number> {
  const [newest] = await sessions.list({ limit: 1 });
  if (newest === undefined) return 0;
  const session = await sessions.open(newest.session_id);
  for await (const { gseq } of session.events({ after: Math.max(0, newest.last_seq - 1) })) return gseq;
  return 0;
}

/** Reads the merged stream of these sessions until the last of them has ended. */
async function readToTheirEnds(
  sessions: SessionHost,
  { ids, after, signal, show }: {
    ids: readonly string[];
    after: number;
    signal: AbortSignal;
    show?: RunDemoOptions["show"];
  },
): Promise<Envelope[]> {
  const read: Envelope[] = [];
  let ended = 0;
  for await (const envelope of sessions.events({ after, signal })) {
    if (!ids.includes(envelope.session_id)) continue;
    read.push(envelope);
    await show?.(envelope);
    if (envelope.event.type === "session_ended" && ++ended === ids.length) break;
  }
  return read;
}

async function runOneMore(
  sessions: SessionHost,
  { workdir, signal }: { workdir: string; signal: AbortSignal },
): Promise<SessionResult> {
  const request = { workdir, prompt: "Are you there?", params: { speed: 0 } };
  const session = await sessions.start(request, { adapter: "replay", signal });
  return await session.result();
}

async function readRecordedEvents({ pluginFolder }: DemoHost): Promise<string[]> {
  const folder = await pluginFolder("replay");
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
