import { ToldErrors } from "./rows/told-errors.ts";
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
    /** Agents of the agent that it started. */
    agents: AgentRow[];
    allowed: UsedRow[];
  }
  | { kind: "used"; seq: number; to: number; used: EventOf<"capability">[] }
  | { kind: "plan"; seq: number; event: EventOf<"plan">; seqs: number[] }
  | { kind: "reads"; seq: number; to: number; rows: ToolRow[]; allowed: UsedRow[] }
  | {
    kind: "agent";
    seq: number;
    agent_id: string;
    started: EventOf<"agent_started"> | null;
    ended: EventOf<"agent_ended"> | null;
    rows: TimelineRow[];
  }
  | {
    kind: "process";
    seq: number;
    spawned: EventOf<"process_spawned">;
    exited: EventOf<"process_exited"> | null;
    allowed: UsedRow[];
  }
  | { kind: "event"; seq: number; event: ShownEvent["event"]; cut: boolean };

type ToolRow = Extract<TimelineRow, { kind: "tool" }>;
type AgentRow = Extract<TimelineRow, { kind: "agent" }>;
/** Permissions that were used one after the other. */
export type UsedRow = Extract<TimelineRow, { kind: "used" }>;

/** The number of the last event that a row has from its first on. */
export function endOf(row: TimelineRow): number {
  return "to" in row ? row.to : row.seq;
}

/** Whether a row has an event in it. */
export function holds(row: TimelineRow, seq: number): boolean {
  if (row.kind === "plan") return row.seqs.includes(seq);
  if (row.kind === "agent") return row.seq === seq || row.rows.some((one) => holds(one, seq));
  if (row.kind === "tool" && row.agents.some((one) => holds(one, seq))) return true;
  if ("allowed" in row && row.allowed.some((one) => holds(one, seq))) return true;
  return row.seq <= seq && seq <= endOf(row);
}

/** Parts that the border between two blocks divides: tool calls and answers, and an error from its first words. */
interface DividedCalls {
  /** Answers in the next block to calls of this one. */
  answers: ReadonlyMap<string, EventOf<"tool_result">>;
  /** Answers of this block to calls of the one before, which shows them. */
  answered: ReadonlySet<string>;
  /** Events of the block before. */
  before: readonly ShownEvent[];
  /** Events of agents of the agent in the next block, up to their end. */
  goesOn: readonly ShownEvent[];
  /** Agents of the agent that the block before shows up to their end. */
  ended: ReadonlySet<string>;
}

const undivided: DividedCalls = { answers: new Map(), answered: new Set(), before: [], goesOn: [], ended: new Set() };

/**
 * Finds what is divided between a block and its neighbours, as far as those are here.
 * @param options.isFiltered each block keeps what its agents' agents do: its neighbour may not be shown
 */
export function dividedCalls(
  block: readonly ShownEvent[],
  { before, after }: { before: readonly ShownEvent[]; after: readonly ShownEvent[] },
  { isFiltered = false }: { isFiltered?: boolean } = {},
): DividedCalls {
  const carried = isFiltered ? new Set<string>() : carriedAgents(block, after);
  const open = openCalls(block);
  const openBefore = openCalls(before);
  const results = (events: readonly ShownEvent[]) =>
    events.flatMap(({ event }) => event.type === "tool_result" ? [event] : []);
  return {
    answers: new Map(results(after).flatMap((one) => open.has(one.call_id) ? [[one.call_id, one]] : [])),
    answered: new Set(results(block).flatMap(({ call_id }) => openBefore.has(call_id) ? [call_id] : [])),
    before,
    goesOn: after.filter(({ event }) => carried.has(agentOf(event) ?? "")),
    ended: isFiltered ? new Set() : carriedAgents(before, block),
  };
}

/** Returns the agents that begin in one block, or go on in it, and end in the next. */
function carriedAgents(block: readonly ShownEvent[], next: readonly ShownEvent[]): Set<string> {
  const open = new Set<string>();
  for (const { event } of block) {
    const id = agentOf(event);
    if (event.type === "agent_ended") open.delete(event.agent_id);
    else if (id !== undefined) open.add(id);
  }
  return new Set(
    next.flatMap(({ event }) => event.type === "agent_ended" && open.has(event.agent_id) ? [event.agent_id] : []),
  );
}

function agentOf(event: ShownEvent["event"]): string | undefined {
  return "agent_id" in event ? event.agent_id : undefined;
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
export function foldRows(events: readonly ShownEvent[], divided = undivided): TimelineRow[] {
  const { answers, answered, before, goesOn, ended } = divided;
  const folding = new Folding();
  const told = new ToldErrors(before);
  for (const envelope of events) {
    const event = told.brief(envelope.event);
    const isAbove = event.type === "tool_result" && answered.has(event.call_id) || ended.has(agentOf(event) ?? "");
    if (!isAbove) folding.take({ ...envelope, event });
  }
  for (const envelope of goesOn) folding.take(envelope);
  giveAnswers(folding.rows, answers);
  return withReads(withAllowed(folding.rows));
}

/** Puts what was allowed into the row before it, else into the one after: only where both are words it has a row. */
function withAllowed(rows: readonly TimelineRow[]): TimelineRow[] {
  return rows.filter((row, at) => {
    if (row.kind !== "used") return true;
    const beside = [rows[at - 1], rows[at + 1]].find((one) => one !== undefined && "allowed" in one);
    if (beside === undefined || !("allowed" in beside)) return true;
    beside.allowed.push(row);
    return false;
  });
}

function giveAnswers(rows: readonly TimelineRow[], answers: DividedCalls["answers"]): void {
  for (const row of rows) {
    if (row.kind === "agent") giveAnswers(row.rows, answers);
    if (row.kind !== "tool") continue;
    row.result ??= answers.get(row.call?.call_id ?? "") ?? null;
    giveAnswers(row.agents, answers);
  }
}

/** Folds reads that follow one another; one alone stays as it is. */
function withReads(rows: readonly TimelineRow[]): TimelineRow[] {
  const folded: TimelineRow[] = [];
  let run: ToolRow[] = [];
  const close = () => {
    const [first] = run;
    if (first === undefined || run.length < 2) folded.push(...run);
    else {
      const allowed = run.flatMap((row) => row.allowed);
      folded.push({ kind: "reads", seq: first.seq, at: first.at, to: Math.max(...run.map(endOf)), rows: run, allowed });
    }
    run = [];
  };
  for (const row of rows) {
    if (isRead(row)) run.push(row);
    else {
      close();
      folded.push(row);
    }
  }
  close();
  return folded;
}

function isRead(row: TimelineRow): row is ToolRow {
  return row.kind === "tool" && row.parts.length === 0 && row.agents.length === 0 &&
    row.result?.success === true &&
    (row.call?.kind === "read" || row.call?.kind === "search");
}

class Folding {
  readonly rows: TimelineRow[] = [];
  #calls = new Map<string, Extract<TimelineRow, { kind: "tool" }>>();
  #requests = new Map<string, Extract<TimelineRow, { kind: "tool" }>>();
  #said: string | undefined;
  #processes = new Map<number, Extract<TimelineRow, { kind: "process" }>>();
  #plan: Extract<TimelineRow, { kind: "plan" }> | null = null;
  /** Agents of the agent, and their agents. */
  #agents = new Map<string, { row: AgentRow; folding: Folding }>();

  take(envelope: ShownEvent): void {
    const id = agentOf(envelope.event);
    if (id === undefined) this.#take(envelope);
    else this.#takeAgents(envelope, id);
  }

  #take(envelope: ShownEvent): void {
    const { event, seq, ts: at } = envelope;
    switch (event.type) {
      case "plan":
        if (this.#plan === null) {
          this.#plan = { kind: "plan", at, seq, event, seqs: [seq] };
          this.rows.push(this.#plan);
          return;
        }
        this.#plan.event = event;
        this.#plan.seqs.push(seq);
        return;
      case "output":
        return this.#text(envelope, event.stream, event.data);
      case "thinking":
        return this.#text(envelope, "thinking", event.content);
      case "tool_call":
        return this.#tool(
          { kind: "tool", at, seq, call: event, result: null, parts: [], agents: [], allowed: [] },
          event.call_id,
        );
      case "tool_result": {
        const row = this.#calls.get(event.call_id);
        if (row === undefined) {
          this.rows.push({ kind: "tool", at, seq, call: null, result: event, parts: [], agents: [], allowed: [] });
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
        const row = { kind: "process" as const, at, seq, spawned: event, exited: null, allowed: [] };
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

  /** Puts an event of an agent of the agent under the row of that, and that under what started it. */
  #takeAgents(envelope: ShownEvent, agent_id: string): void {
    const { event, seq, ts: at } = envelope;
    let known = this.#agents.get(agent_id);
    if (known === undefined) {
      const folding = new Folding();
      known = { folding, row: { kind: "agent", at, seq, agent_id, started: null, ended: null, rows: folding.rows } };
      this.#agents.set(agent_id, known);
      this.#placeFor(event).push(known.row);
    }
    if (event.type === "agent_started") known.row.started = event;
    else if (event.type === "agent_ended") known.row.ended = event;
    else known.folding.#take(envelope);
  }

  /** Returns where an agent's row belongs: under the call that started it, else beside what its parent does. */
  #placeFor(event: ShownEvent["event"]): TimelineRow[] {
    if (event.type !== "agent_started") return this.rows;
    const parent = this.#agents.get(event.parent ?? "")?.folding ?? this;
    return parent.#calls.get(event.call_id ?? "")?.agents ?? parent.rows;
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
