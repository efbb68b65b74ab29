import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { Artifact } from "../../../../plugin-sdk/result.ts";
import { resolve } from "../../../ground/platform/files/paths.ts";
import { type JournalReader, openJournalReader } from "../../../records/journal/journal-reader.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import { eventsIn, sessionsIn } from "./read-journals.ts";
import { stateJournals } from "./state-journals.ts";

/** The turns of a conversation that are taken back. */
interface TurnsBack {
  conversation: string;
  /** Turn after which they began. */
  to: number;
  /** Sessions that share the folder with one that has not ended. */
  met: readonly string[];
}

/**
 * Finds what sessions in the same folder changed while turns ran that are taken back. git lists every change of a folder in
 * each of them: what only this conversation's own events name is its own.
 * @returns absolute paths
 */
export async function changedByOthers(stateDir: string, turns: TurnsBack): Promise<string[]> {
  const readers: JournalReader[] = [];
  try {
    for (const { file } of await stateJournals(stateDir)) {
      // One that cannot be read is told by its own host.
      readers.push(...await openJournalReader(file).then((reader) => [reader], () => []));
    }
    const own = await ownSigns(readers, turns);
    const paths = new Set<string>();
    for (const id of own.met) {
      for (const path of await signsOf(readers, id, own)) paths.add(path);
    }
    return [...paths];
  } finally {
    for (const reader of readers) reader.close();
  }
}

interface OwnSigns {
  /** Absolute paths that its events name. */
  named: ReadonlySet<string>;
  met: ReadonlySet<string>;
  /** When the first of the turns began; null where that is not known. */
  since: string | null;
}

async function ownSigns(
  readers: readonly JournalReader[],
  { conversation, to, met: now }: TurnsBack,
): Promise<OwnSigns> {
  const named = new Set<string>();
  const met = new Set(now);
  let since: string | null = null;
  for (const reader of readers) {
    for await (const session of sessionsIn(reader, conversation)) {
      if (session.state === "ended" && session.last_turn <= to) break;
      for await (const { event, ts } of eventsIn(reader, session)) {
        for (const path of namedBy(event)) named.add(resolve(session.workdir, path));
        const first = event.type === "session_started" ? (event.follows?.turn ?? 0) + 1 : null;
        const turn = event.type === "turn_started" ? event.turn : first;
        if (turn === to + 1) since ??= ts;
        if (event.type !== "session_ended") continue;
        for (const id of event.result.artifacts_shared_with ?? []) met.add(id);
      }
    }
  }
  return { named, met, since };
}

/** Paths that another session named, or lists as changed and this one does not name. */
async function signsOf(
  readers: readonly JournalReader[],
  id: string,
  { named: own, since }: OwnSigns,
): Promise<Set<string>> {
  const paths = new Set<string>();
  for (const reader of readers) {
    const session = await reader.session(id);
    if (session === null || session.deleted !== null || isBefore(session.ended_at, since)) continue;
    const add = (path: string) => paths.add(resolve(session.workdir, path));
    let hasTurns = false;
    for await (const { event, ts } of eventsIn(reader, session)) {
      namedBy(event).forEach(add);
      hasTurns ||= event.type === "turn_ended";
      if (hasTurns && (event.type === "session_ended" || isBefore(ts, since))) continue;
      for (const { path } of changedIn(event)) if (!own.has(resolve(session.workdir, path))) add(path);
    }
  }
  return paths;
}

function isBefore(at: SessionRecord["ended_at"], since: string | null): boolean {
  return at !== null && since !== null && at < since;
}

function changedIn(event: Envelope["event"]): readonly Artifact[] {
  if (event.type === "turn_ended") return event.artifacts ?? [];
  return event.type === "session_ended" ? event.result.artifacts ?? [] : [];
}

/** Paths that an event says a session writes. */
function namedBy(event: Envelope["event"]): string[] {
  if (event.type === "file_change") return [event.path, ...event.from === undefined ? [] : [event.from]];
  const isWrite = event.type === "capability" && event.permission === "write" && event.decision === "allowed";
  return isWrite ? [event.target] : [];
}
