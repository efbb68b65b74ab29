import type { ShownEvent } from "./shown-event.ts";

type EventOf<T extends ShownEvent["event"]["type"]> = Extract<ShownEvent["event"], { type: T }>;

/** One row of a timeline, with the time of its first event. */
export type TimelineRow = { at: string } & RowContent;

type RowContent =
  | { kind: "text"; seq: number; to: number; voice: "stdout" | "stderr" | "thinking"; text: string; cut: boolean }
  | {
    kind: "tool";
    seq: number;
    call: EventOf<"tool_call"> | null;
    result: EventOf<"tool_result"> | null;
    parts: ShownEvent[];
  }
  | { kind: "used"; seq: number; to: number; used: EventOf<"capability">[] }
  | { kind: "process"; seq: number; spawned: EventOf<"process_spawned">; exited: EventOf<"process_exited"> | null }
  | { kind: "event"; seq: number; event: ShownEvent["event"]; cut: boolean };

/** Tool calls and answers that the border between two blocks divides. */
interface DividedCalls {
  /** Answers in the next block to calls of this one. */
  answers: ReadonlyMap<string, EventOf<"tool_result">>;
  /** Answers of this block to calls of the one before, which shows them. */
  answered: ReadonlySet<string>;
}

const undivided: DividedCalls = { answers: new Map(), answered: new Set() };

/** Finds the tool calls and answers that are divided between a block and its neighbours, as far as those are here. */
export function dividedCalls(
  block: readonly ShownEvent[],
  { before, after }: { before: readonly ShownEvent[]; after: readonly ShownEvent[] },
): DividedCalls {
  const open = openCalls(block);
  const openBefore = openCalls(before);
  const results = (events: readonly ShownEvent[]) =>
    events.flatMap(({ event }) => event.type === "tool_result" ? [event] : []);
  return {
    answers: new Map(results(after).flatMap((one) => open.has(one.call_id) ? [[one.call_id, one]] : [])),
    answered: new Set(results(block).flatMap(({ call_id }) => openBefore.has(call_id) ? [call_id] : [])),
  };
}

function openCalls(events: readonly ShownEvent[]): Set<string> {
  const open = new Set<string>();
  for (const { event } of events) {
    if (event.type === "tool_call") open.add(event.call_id);
    else if (event.type === "tool_result") open.delete(event.call_id);
  }
  return open;
}

/**
 * Folds a block of events into rows: a tool's call with its answer, text with the text that it continues. Heads of turns and
 * the list of messages that wait show what else there is of turns and messages.
 */
export function foldRows(events: readonly ShownEvent[], { answers, answered } = undivided): TimelineRow[] {
  const folding = new Folding();
  for (const envelope of events) {
    const { event } = envelope;
    if (event.type !== "tool_result" || !answered.has(event.call_id)) folding.take(envelope);
  }
  for (const row of folding.rows) {
    if (row.kind === "tool" && row.result === null) row.result = answers.get(row.call?.call_id ?? "") ?? null;
  }
  return folding.rows;
}

class Folding {
  readonly rows: TimelineRow[] = [];
  #calls = new Map<string, Extract<TimelineRow, { kind: "tool" }>>();
  #requests = new Map<string, Extract<TimelineRow, { kind: "tool" }>>();
  #said: string | undefined;
  #processes = new Map<number, Extract<TimelineRow, { kind: "process" }>>();

  take(envelope: ShownEvent): void {
    const { event, seq, ts: at } = envelope;
    switch (event.type) {
      case "output":
        return this.#text(envelope, event.stream, event.data);
      case "thinking":
        return this.#text(envelope, "thinking", event.content);
      case "tool_call":
        return this.#tool({ kind: "tool", at, seq, call: event, result: null, parts: [] }, event.call_id);
      case "tool_result": {
        const row = this.#calls.get(event.call_id);
        if (row === undefined) {
          this.rows.push({ kind: "tool", at, seq, call: null, result: event, parts: [] });
          return;
        }
        row.result = event;
        return;
      }
      case "permission_request": {
        const row = event.call_id === undefined ? undefined : this.#calls.get(event.call_id);
        if (row === undefined) return this.#plain(envelope);
        row.parts.push(envelope);
        this.#requests.set(event.request_id, row);
        return;
      }
      case "permission_resolved": {
        const row = this.#requests.get(event.request_id);
        if (row === undefined) return this.#plain(envelope);
        row.parts.push(envelope);
        return;
      }
      case "capability":
        return event.decision === "denied" || event.reason !== undefined
          ? this.#plain(envelope)
          : this.#used(envelope, event);
      case "process_spawned": {
        const row = { kind: "process" as const, at, seq, spawned: event, exited: null };
        this.#processes.set(event.process_id, row);
        this.rows.push(row);
        return;
      }
      case "process_exited": {
        const row = this.#processes.get(event.process_id);
        if (row === undefined) return this.#plain(envelope);
        row.exited = event;
        return;
      }
      case "message_accepted":
      case "message_changed":
      case "message_sent":
      case "message":
      case "turn_started":
        return;
      case "message_delivered":
        return event.how === "injected" ? this.#plain(envelope) : undefined;
      case "message_dropped":
        return event.reason === "moved" ? undefined : this.#plain(envelope);
      case "turn_ended":
        return event.outcome === "completed" ? undefined : this.#plain(envelope);
      case "completed":
        this.#said = event.output;
        return this.#plain(envelope);
      case "session_ended":
        // The agent's last text is shown already.
        return this.#plain(
          event.result.output === this.#said
            ? { ...envelope, event: { ...event, result: { ...event.result, output: "" } } }
            : envelope,
        );
      default:
        return this.#plain(envelope);
    }
  }

  #plain({ event, seq, ts, cut_from }: ShownEvent): void {
    this.rows.push({ kind: "event", seq, at: ts, event, cut: cut_from !== undefined });
  }

  #tool(row: Extract<TimelineRow, { kind: "tool" }>, callId: string): void {
    this.#calls.set(callId, row);
    this.rows.push(row);
  }

  #text({ seq, ts: at, cut_from }: ShownEvent, voice: "stdout" | "stderr" | "thinking", text: string): void {
    const last = this.rows.at(-1);
    const cut = cut_from !== undefined;
    if (last?.kind === "text" && last.voice === voice && !last.cut && last.text.length < 4096) {
      last.text += text;
      last.to = seq;
      last.cut = cut;
    } else this.rows.push({ kind: "text", at, seq, to: seq, voice, text, cut });
  }

  #used({ seq, ts: at }: ShownEvent, event: EventOf<"capability">): void {
    const last = this.rows.at(-1);
    if (last?.kind === "used") {
      last.used.push(event);
      last.to = seq;
    } else this.rows.push({ kind: "used", at, seq, to: seq, used: [event] });
  }
}
