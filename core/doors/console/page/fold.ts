import { ToldErrors } from "./rows/told-errors.ts";
import { blockOf, type ShownEvent } from "./shown-event.ts";

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
    /** Numbers of all its events. */
    seqs: number[];
  }
  | { kind: "used"; seq: number; to: number; used: EventOf<"capability">[] }
  | { kind: "plan"; seq: number; event: EventOf<"plan"> }
  | { kind: "reads"; seq: number; to: number; rows: ToolRow[]; allowed: UsedRow[] }
  | {
    kind: "agent";
    seq: number;
    agent_id: string;
    started: EventOf<"agent_started"> | null;
    ended: EventOf<"agent_ended"> | null;
    /** Number of its end; null without one. */
    end: number | null;
    rows: TimelineRow[];
  }
  | {
    kind: "process";
    seq: number;
    spawned: EventOf<"process_spawned">;
    exited: EventOf<"process_exited"> | null;
    allowed: UsedRow[];
    seqs: number[];
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
  if ("seqs" in row && row.seqs.includes(seq)) return true;
  if (row.kind === "agent") return row.seq === seq || row.end === seq || row.rows.some((one) => holds(one, seq));
  if (row.kind === "tool" && row.agents.some((one) => holds(one, seq))) return true;
  if (row.kind === "reads" && row.rows.some((one) => holds(one, seq))) return true;
  if ("allowed" in row && row.allowed.some((one) => holds(one, seq))) return true;
  return row.seq <= seq && seq <= endOf(row);
}

/** The rows to make of some events: those that begin in a range. */
interface FoldOptions {
  from?: number;
  to?: number | null;
  /** Agents of the agent have rows of their own in each block of events, with what they did there. */
  isApart?: boolean;
  /** None of these rows stands under a call in another block, which may not be shown. */
  isSparse?: boolean;
}

/** Rows end at each of these numbers, so that what stands in one row is never far apart. */
export const longestRow = 1000;

/**
 * Folds events into rows: a tool's call with its answer, text with the text that it continues. Returns the rows that begin in
 * a range: with events before and after it, each row is whole and stands once, where it begins. Heads of turns and the list of
 * messages that wait show what else there is of turns and messages.
 */
export function foldRows(
  events: readonly ShownEvent[],
  { from = 1, to = null, isApart = false, isSparse = false }: FoldOptions = {},
): TimelineRow[] {
  const folding = new Folding({ isApart, isSparse, calls: new Map(), homes: new Map() });
  const told = new ToldErrors();
  for (const envelope of events) folding.take({ ...envelope, event: told.brief(envelope.event) });
  const rows = withReads(withAllowed(folding.rows), folding.borders);
  return rows.filter(({ seq }) => from <= seq && seq <= (to ?? Infinity));
}

/** Whether two events next to each other can stand in one row. */
function areBeside(before: number, after: number): boolean {
  return Math.floor((before - 1) / longestRow) === Math.floor((after - 1) / longestRow);
}

function agentOf(event: ShownEvent["event"]): string | undefined {
  return "agent_id" in event ? event.agent_id : undefined;
}

/** The kind of a row that goes on through the events after it; null for one that does not, undefined where it adds no row. */
function runOf({ event }: ShownEvent): string | null | undefined {
  if (agentOf(event) !== undefined) return null;
  switch (event.type) {
    case "output":
      return event.stream;
    case "thinking":
      return event.type;
    case "tool_call":
      return event.kind === "read" || event.kind === "search" ? "reads" : null;
    case "capability":
      return event.decision === "denied" || event.reason !== undefined ? null : "reads";
    case "plan":
    case "tool_result":
    case "permission_request":
    case "permission_resolved":
    case "process_exited":
    case "message_accepted":
    case "message_changed":
    case "message_sent":
    case "message":
      return undefined;
    default:
      return null;
  }
}

/** Whether all of a block can stand in a row that begins before it, so that one must look further for its beginning or end. */
export function isInOneRow(block: readonly ShownEvent[]): boolean {
  const runs = new Set(block.map(runOf).filter((run) => run !== undefined));
  return runs.size < 2 && !runs.has(null);
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

/** Folds reads that follow one another; one alone stays as it is. */
function withReads(rows: readonly TimelineRow[], borders: readonly number[]): TimelineRow[] {
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
    const last = run.at(-1);
    if (
      last !== undefined &&
      !(areBeside(last.seq, row.seq) && !borders.some((border) => last.seq < border && border < row.seq))
    ) {
      close();
    }
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

/** The parts of one folding that the foldings of agents' agents know as well. */
interface SharedFolding {
  isApart: boolean;
  isSparse: boolean;
  calls: Map<string, ToolRow>;
  /** The rows of an agent that has a call. */
  homes: Map<string, Folding>;
}

class Folding {
  readonly rows: TimelineRow[] = [];
  /** Numbers of events over which no row goes on: a turn began, or what came belongs to a row far above. */
  readonly borders: number[] = [];
  readonly #shared: SharedFolding;
  #requests = new Map<string, ToolRow>();
  #said: string | undefined;
  #processes = new Map<number, Extract<TimelineRow, { kind: "process" }>>();
  /** Agents of the agent, and their agents. */
  #agents = new Map<string, { row: AgentRow; folding: Folding }>();

  constructor(shared: SharedFolding) {
    this.#shared = shared;
  }

  take(envelope: ShownEvent): void {
    const id = agentOf(envelope.event);
    if (id === undefined) this.#take(envelope);
    else this.#takeAgents(envelope, id);
  }

  #take(envelope: ShownEvent): void {
    const { event, seq, ts: at } = envelope;
    switch (event.type) {
      case "plan":
        return void this.rows.push({ kind: "plan", at, seq, event });
      case "output":
        return this.#text(envelope, event.stream, event.data);
      case "thinking":
        return this.#text(envelope, "thinking", event.content);
      case "tool_call":
        return this.#tool({ at, seq, call: event, result: null }, event.call_id);
      case "tool_result": {
        const row = this.#shared.calls.get(event.call_id);
        if (row === undefined) return this.#tool({ at, seq, call: null, result: event });
        row.result = event;
        return this.#add(row, seq);
      }
      case "permission_request": {
        const row = event.call_id === undefined ? undefined : this.#shared.calls.get(event.call_id);
        if (row === undefined) return this.#plain(envelope);
        row.parts.push(envelope);
        this.#requests.set(event.request_id, row);
        return this.#add(row, seq);
      }
      case "permission_resolved": {
        const row = this.#requests.get(event.request_id);
        if (row === undefined) return this.#plain(envelope);
        row.parts.push(envelope);
        return this.#add(row, seq);
      }
      case "capability":
        return event.decision === "denied" || event.reason !== undefined
          ? this.#plain(envelope)
          : this.#used(envelope, event);
      case "process_spawned": {
        const row = { kind: "process" as const, at, seq, spawned: event, exited: null, allowed: [], seqs: [seq] };
        this.#processes.set(event.process_id, row);
        this.rows.push(row);
        return;
      }
      case "process_exited": {
        const row = this.#processes.get(event.process_id);
        if (row === undefined) return this.#plain(envelope);
        row.exited = event;
        return this.#add(row, seq);
      }
      case "message_accepted":
      case "message_changed":
      case "message_sent":
      case "message":
        return;
      case "turn_started":
        return void this.borders.push(seq);
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
    const { isApart, homes } = this.#shared;
    const home = event.type === "tool_result" ? homes.get(event.call_id) : undefined;
    if (home !== undefined) return home.#take(envelope);
    const key = `${agent_id}/${isApart ? blockOf(seq) : ""}`;
    let known = this.#agents.get(key);
    if (known === undefined) {
      const folding = new Folding(this.#shared);
      const { rows } = folding;
      known = { folding, row: { kind: "agent", at, seq, agent_id, started: null, ended: null, end: null, rows } };
      this.#agents.set(key, known);
      this.#placeFor(event, seq).push(known.row);
    }
    if (event.type === "tool_call") homes.set(event.call_id, known.folding);
    if (event.type === "agent_started") known.row.started ??= event;
    else if (event.type === "agent_ended") Object.assign(known.row, { ended: event, end: seq });
    else known.folding.#take(envelope);
  }

  /** Returns where an agent's row belongs: under the call that started it, else beside what its parent does. */
  #placeFor(event: ShownEvent["event"], seq: number): TimelineRow[] {
    if (event.type !== "agent_started") return this.rows;
    const { calls, isSparse } = this.#shared;
    const call = calls.get(event.call_id ?? "");
    const isHere = call !== undefined && (!isSparse || blockOf(call.seq) === blockOf(seq));
    if (isHere && agentOf(call.call!) === event.parent) return call.agents;
    const parents = [...this.#agents].filter(([, { row }]) => row.agent_id === event.parent);
    return parents.at(-1)?.[1].folding.rows ?? this.rows;
  }

  /**
   * Notes an event of a row above. One that stands further away than the block before may be unknown where the next block is
   * folded: for both, rows end here.
   */
  #add(row: { seq: number; seqs: number[] }, seq: number): void {
    row.seqs.push(seq);
    if (blockOf(seq) - blockOf(row.seq) > 1) this.borders.push(seq);
  }

  #plain({ event, seq, ts, cut_from }: ShownEvent): void {
    this.rows.push({ kind: "event", seq, at: ts, event, cut: cut_from !== undefined });
  }

  #tool(facts: Pick<ToolRow, "at" | "seq" | "call" | "result">, callId?: string): void {
    const row: ToolRow = { kind: "tool", ...facts, parts: [], agents: [], allowed: [], seqs: [facts.seq] };
    if (callId !== undefined) this.#shared.calls.set(callId, row);
    this.rows.push(row);
  }

  #text({ seq, ts: at, cut_from }: ShownEvent, voice: "stdout" | "stderr" | "thinking", text: string): void {
    const last = this.rows.at(-1);
    const cut = cut_from !== undefined;
    const goesOn = last?.kind === "text" && last.voice === voice && !last.cut && last.text.length < 4096;
    if (goesOn && this.#isBeside(last.to, seq)) {
      last.text += text;
      last.to = seq;
      last.cut = cut;
    } else this.rows.push({ kind: "text", at, seq, to: seq, voice, text, cut });
  }

  #isBeside(before: number, after: number): boolean {
    return areBeside(before, after) && (this.borders.at(-1) ?? 0) < before;
  }

  #used({ seq, ts: at }: ShownEvent, event: EventOf<"capability">): void {
    const last = this.rows.at(-1);
    if (last?.kind === "used" && this.#isBeside(last.to, seq)) {
      last.used.push(event);
      last.to = seq;
    } else this.rows.push({ kind: "used", at, seq, to: seq, used: [event] });
  }
}
