import { textOf } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import type { TextOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { relativePaths, within } from "./told-changes.ts";

/** Reads a session's envelopes from the first on, in order; each call reads them again. */
export type Pages = () => AsyncIterable<readonly Envelope[]>;

/** Facts about a session that a recording needs before its first line. */
export interface Outline {
  workdir: string;
  startedAt: number;
  ended: boolean;
  /** The recorded attempt, the last; of a session of several turns, all that did not fail. */
  attempt: number;
  failed: Set<number>;
  /** Texts of the messages that began turns, by the turn's number; null for a session without messages. */
  turns: Map<number, string> | null;
  /** Texts of messages, by id. */
  messages: Map<string, string>;
  /** Ids of the adapters of all attempts. */
  adapters: Set<string>;
  artifacts: Artifact[];
  /** Changes that the session's list leaves out. */
  omitted: number;
  /** Last event in which the agent said that it changed a path: path → `seq`. */
  saidAt: Map<string, number>;
  /** `seq` of the attempt's last event of the agent; null if there is none. */
  lastSaid: number | null;
}

/** A change to a file as a recording's line has it. Paths are relative to the working directory. */
type FileStep = { write: { path: string } & TextOrBase64 } | { delete: string };

/** Steps for one path. */
export interface PathSteps {
  path: string;
  steps: FileStep[];
}

/** Reads a session through once; null when it has no events. */
export async function readOutline(pages: Pages): Promise<Outline | null> {
  let outline: Outline | null = null;
  for await (const page of pages()) {
    for (const envelope of page) {
      const { event } = envelope;
      if (event.type === "session_started") outline ??= newOutline(event.workdir, Date.parse(envelope.ts));
      if (outline !== null) note(outline, envelope);
    }
  }
  return outline;
}

function newOutline(workdir: string, startedAt: number): Outline {
  return {
    workdir,
    startedAt,
    ended: false,
    attempt: 1,
    failed: new Set(),
    turns: null,
    messages: new Map(),
    adapters: new Set(),
    artifacts: [],
    omitted: 0,
    saidAt: new Map(),
    lastSaid: null,
  };
}

function note(outline: Outline, { event, adapter, attempt, source, seq }: Envelope): void {
  outline.adapters.add(adapter.id);
  if (event.type === "message_accepted" || event.type === "message_changed") {
    outline.messages.set(event.message_id, textOf(event.content));
  }
  if (event.type === "attempt_failed") outline.failed.add(event.attempt);
  if (event.type === "turn_started") {
    outline.turns ??= new Map();
    const [id] = event.message_ids;
    if (id !== undefined) outline.turns.set(event.turn, outline.messages.get(id) ?? "");
  }
  if (attempt > outline.attempt) {
    outline.attempt = attempt;
    if (outline.turns === null) {
      outline.lastSaid = null;
      outline.saidAt.clear();
    }
  }
  if (event.type === "session_ended") outline.ended = true;
  if (event.type === "artifacts") {
    outline.artifacts = event.artifacts ?? [];
    outline.omitted = event.omitted ?? 0;
  }
  if (source !== "agent" || event.type === "message" || event.type === "turn_began") return;
  outline.lastSaid = seq;
  // An agent may claim more changes than the host can remember.
  if (event.type !== "file_change" || outline.saidAt.size > 100_000) return;
  for (const path of [event.path, event.from]) {
    if (path !== undefined) outline.saidAt.set(within(outline.workdir, path), seq);
  }
}

/**
 * Yields the lines of a recording for the `replay` plugin: the agent's events, with each file's change, and the messages that
 * began further turns or went into one.
 */
export async function* recordingLines(
  pages: Pages,
  { outline, files }: { outline: Outline; files: readonly PathSteps[] },
): AsyncGenerator<string, void, void> {
  const { workdir, startedAt, attempt, failed, turns, messages, lastSaid } = outline;
  const isOther = (of: number) => turns === null ? of !== attempt : failed.has(of);
  const planned = plan(outline, files);
  let now = 0;
  for await (const page of pages()) {
    for (const { event, source, synthetic, attempt: of, seq, ts } of page) {
      const message = event.type === "turn_started" ? turns?.get(event.turn) : undefined;
      // Other ids will stand there the next time.
      const isAboutMessages = event.type === "message" || event.type === "turn_began" && event.message_ids.length > 0;
      const steer = event.type === "message" && event.state === "taken" ? messages.get(event.message_id) : undefined;
      const isAgents = source === "agent" && synthetic !== true && (!isAboutMessages || steer !== undefined);
      if (message === undefined && (!isAgents || isOther(of))) continue;
      // A recording's times must rise, even if the clock was set back.
      now = Math.max(now, Date.parse(ts) - startedAt);
      if (message !== undefined || steer !== undefined) {
        yield line({ at_ms: now, ...(message === undefined ? { steer } : { turn: message }) });
        continue;
      }
      for (const step of planned.get(seq) ?? []) yield line({ at_ms: now, ...step });
      yield line({ at_ms: now, event: relativePaths(workdir, event as AdapterEvent) });
    }
  }
  if (lastSaid === null) { for (const step of planned.get(-1) ?? []) yield line({ at_ms: now, ...step }); }
}

/** Assigns the steps to the events that they precede. */
function plan({ saidAt, lastSaid }: Outline, files: readonly PathSteps[]): Map<number, FileStep[]> {
  const end = lastSaid ?? -1;
  const planned = new Map<number, FileStep[]>();
  // A file that replaces a folder, or the reverse, must wait until the old one is gone.
  const isTangled = files.some(({ path }) => files.some((other) => other.path.startsWith(`${path}/`)));
  for (const { path, steps } of files) {
    const at = isTangled ? end : saidAt.get(path) ?? end;
    planned.set(at, [...planned.get(at) ?? [], ...steps]);
  }
  for (const steps of planned.values()) steps.sort((a, b) => Number("write" in a) - Number("write" in b));
  return planned;
}

function line(row: unknown): string {
  return `${JSON.stringify(row)}\n`;
}
