import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import type { TextOrBase64 } from "../../ground/runtime/text-or-base64.ts";
import { isAbsolute, isBelow, relative, sep } from "../../ground/runtime/paths.ts";

/** A session's envelopes from the first on, in order, read anew each time. */
export type Pages = () => AsyncIterable<readonly Envelope[]>;

/** What a recording needs to know of a session before its first line can be written. */
export interface Outline {
  workdir: string;
  startedAt: number;
  ended: boolean;
  /** The attempt that is recorded: the last. */
  attempt: number;
  /** Adapters of all attempts. */
  adapters: Set<string>;
  artifacts: Artifact[];
  /** Where the agent last said that it changed a path: path → `seq`. */
  saidAt: Map<string, number>;
  /** `seq` of the attempt's last event of the agent; null when it said nothing. */
  lastSaid: number | null;
}

/** A change to a file as a line of a recording holds it. Paths are relative to the working directory. */
export type FileStep = { write: { path: string } & TextOrBase64 } | { delete: string };

/** Steps for one path. */
export interface PathSteps {
  path: string;
  steps: FileStep[];
}

/** Reads a session through once; null when there is nothing of it. */
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
    adapters: new Set(),
    artifacts: [],
    saidAt: new Map(),
    lastSaid: null,
  };
}

function note(outline: Outline, { event, adapter, attempt, source, seq }: Envelope): void {
  outline.adapters.add(adapter.id);
  if (attempt > outline.attempt) {
    outline.attempt = attempt;
    outline.lastSaid = null;
    outline.saidAt.clear();
  }
  if (event.type === "session_ended") outline.ended = true;
  if (event.type === "artifacts") outline.artifacts = event.artifacts ?? [];
  if (source !== "agent") return;
  outline.lastSaid = seq;
  // An agent may say more than anybody wants to remember.
  if (event.type !== "file_change" || outline.saidAt.size > 100_000) return;
  for (const path of [event.path, event.from]) {
    if (path !== undefined) outline.saidAt.set(within(outline.workdir, path), seq);
  }
}

/**
 * The lines of a recording for the `replay` plugin: what the agent said in the last attempt, each change to a file just
 * before the agent says that it has made it, and the others before its last word.
 */
export async function* recordingLines(
  pages: Pages,
  { outline, files }: { outline: Outline; files: readonly PathSteps[] },
): AsyncGenerator<string, void, void> {
  const { workdir, startedAt, attempt, lastSaid } = outline;
  const planned = plan(outline, files);
  let now = 0;
  for await (const page of pages()) {
    for (const { event, source, synthetic, attempt: of, seq, ts } of page) {
      if (source !== "agent" || synthetic === true || of !== attempt) continue;
      // Recordings go forward, clocks not always.
      now = Math.max(now, Date.parse(ts) - startedAt);
      for (const step of planned.get(seq) ?? []) yield line({ at_ms: now, ...step });
      yield line({ at_ms: now, event: relativeTo(workdir, event as AdapterEvent) });
    }
  }
  if (lastSaid === null) { for (const step of planned.get(-1) ?? []) yield line({ at_ms: now, ...step }); }
}

/** Which steps come before which event. */
function plan({ saidAt, lastSaid }: Outline, files: readonly PathSteps[]): Map<number, FileStep[]> {
  const end = lastSaid ?? -1;
  const planned = new Map<number, FileStep[]>();
  // A file that takes the place of a folder, or the other way round, must wait until that is gone.
  const isTangled = files.some(({ path }) => files.some((other) => other.path.startsWith(`${path}/`)));
  for (const { path, steps } of files) {
    const at = isTangled ? end : saidAt.get(path) ?? end;
    planned.set(at, [...planned.get(at) ?? [], ...steps]);
  }
  for (const steps of planned.values()) steps.sort((a, b) => Number("write" in a) - Number("write" in b));
  return planned;
}

/** An event whose own paths are relative to the working directory, so that it is true of another one as well. */
function relativeTo(workdir: string, event: AdapterEvent): AdapterEvent {
  if (event.type === "file_change") {
    const from = event.from === undefined ? {} : { from: within(workdir, event.from) };
    return { ...event, path: within(workdir, event.path), ...from };
  }
  if (event.type === "completed") {
    return { ...event, files_changed: event.files_changed.map((path) => within(workdir, path)) };
  }
  return event;
}

/** A path of the agent's, relative to the working directory where it lies in it. */
function within(workdir: string, path: string): string {
  if (!isAbsolute(path)) return path.replace(/^(\.\/)+/, "");
  return isBelow(workdir, path) ? relative(workdir, path).split(sep).join("/") : path;
}

function line(row: unknown): string {
  return `${JSON.stringify(row)}\n`;
}
