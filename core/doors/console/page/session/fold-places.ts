import { type Signal, signal } from "@preact/signals";
import type { AgentCount, FarAnswer } from "../../../http/count-folds.ts";
import type { HostApi } from "../api.ts";
import type { ShownEvent } from "../shown-event.ts";

/** Events that one answer of the host tells about. */
const pieceSize = 10_000;
/** From a question about some events to the next one about the same, in milliseconds. */
const againMs = 1000;

/** The host's answer about some events. */
interface Piece {
  answers: readonly FarAnswer[];
  plans: readonly number[];
  agents: ReadonlyMap<string, AgentCount>;
  inner: ReadonlySet<number>;
  /** Whether it is known of all these agents where they began. */
  isHomely: boolean;
  /** Number of the last event that it knows of. */
  to: number;
}

interface FoldPlacesDeps {
  api: HostApi;
  /** The session's address below `/v1`. */
  path: string;
  /** Number of the newest event. */
  last: () => number;
  /** Events of one block. */
  step: number;
  /** Draws what is shown again. */
  changed: () => void;
}

/** The newest change of a plan, and how many there are; null where that was not counted. */
export interface PlanPlace {
  seq: number;
  updates: number | null;
}

/**
 * Tells where the rows stand whose events are far apart: the plan, and agents of the agent. The host is asked about the part
 * of a session where such a row is drawn, and about no other.
 */
export class FoldPlaces {
  /** Rises when something new is known of agents of the agent. */
  readonly version: Signal<number> = signal(0);
  readonly #deps: FoldPlacesDeps;
  readonly #over = new AbortController();
  readonly #pieces = new Map<number, Piece>();
  readonly #askedAt = new Map<number, number>();
  #isAsking = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Beginnings of agents of the agent. */
  readonly #homes = new Map<string, { seq: number; name: string | null } | null>();
  /** Every event between these came here as it happened. */
  #live = { from: Infinity, to: 0 };
  #livePlans: number[] = [];
  /** Numbers of answers to calls that were shown without one; null without one until now. */
  readonly #answers = new Map<string, number | null>();

  constructor(deps: FoldPlacesDeps) {
    this.#deps = deps;
  }

  close(): void {
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  /** Takes a new event. */
  append(envelope: ShownEvent): void {
    const { seq, event } = envelope;
    if (seq <= this.#live.to) return;
    this.learn(envelope);
    if (seq !== this.#live.to + 1) {
      this.#live.from = seq;
      this.#livePlans = [];
    }
    this.#live.to = seq;
    if (event.type === "plan") this.#livePlans.push(seq);
    if (event.type === "tool_result" && this.#answers.has(event.call_id)) this.#answers.set(event.call_id, seq);
    if ("agent_id" in event && event.agent_id !== undefined && this.#pieces.size > 0) this.#soon();
  }

  /** Takes an event that was read. */
  learn({ seq, event }: ShownEvent): void {
    if (event.type !== "agent_started" || this.#homes.get(event.agent_id) != null) return;
    this.#homes.set(event.agent_id, { seq, name: event.name });
  }

  /** The newest change of the plan from one event to another, where there is one; undefined until that is known. */
  newestPlan(from: number, to: number | null): PlanPlace | undefined {
    const end = Math.min(to ?? Infinity, this.#deps.last());
    const isIn = (seq: number) => from <= seq && seq <= end;
    const live = this.#livePlans.filter(isIn);
    // What came as it happened needs no answer.
    const told = Math.min(end, this.#live.from - 1);
    let newest = live.at(-1);
    let updates: number | null = live.length;
    for (let at = pieceOf(told); told >= from && at >= pieceOf(from); at--) {
      const isAsked = newest === undefined;
      const piece = isAsked ? this.#ask(at, told) : this.#pieces.get(at);
      if (piece === undefined || piece.to < Math.min(told, (at + 1) * pieceSize)) {
        if (isAsked) return undefined;
        updates = null;
        break;
      }
      const plans = piece.plans.filter((seq) => isIn(seq) && seq <= told);
      newest ??= plans.at(-1);
      updates += plans.length;
    }
    return newest === undefined ? undefined : { seq: newest, updates };
  }

  /**
   * Finds where an agent of the agent began that has an event here; null where no event says that it did, undefined until that is
   * known.
   */
  homeOf(agent_id: string, seq: number): { seq: number; name: string | null } | null | undefined {
    const known = this.#homes.get(agent_id);
    if (known !== undefined) return known;
    for (let at = pieceOf(seq); at >= 0; at--) {
      const piece = this.#ask(at, seq);
      if (piece === undefined || piece.to < Math.min(seq, (at + 1) * pieceSize)) return undefined;
      const { began = null, name = null } = piece.agents.get(agent_id) ?? {};
      if (began === null) continue;
      const home = { seq: began, name };
      this.#homes.set(agent_id, home);
      return home;
    }
    this.#homes.set(agent_id, null);
    return null;
  }

  /** Returns the numbers of answers, far below, to calls among some events. */
  answersTo(events: readonly ShownEvent[], around: readonly ShownEvent[]): number[] {
    const answered = new Set(around.flatMap(({ event }) => event.type === "tool_result" ? [event.call_id] : []));
    return events.flatMap(({ event, seq }) => {
      const isOpen = event.type === "tool_call" && event.agent_id === undefined && !answered.has(event.call_id);
      return isOpen ? this.#answerTo(event.call_id, seq) ?? [] : [];
    });
  }

  #answerTo(call_id: string, seq: number): number | undefined {
    const known = this.#answers.get(call_id);
    if (known != null) return known;
    this.#answers.set(call_id, null);
    const told = Math.min(this.#deps.last(), this.#live.from - 1);
    for (let at = pieceOf(seq); at <= pieceOf(told); at++) {
      const piece = this.#ask(at, told);
      const answer = piece?.answers.find((one) => one.call_id === call_id);
      if (answer !== undefined) this.#answers.set(call_id, answer.seq);
      if (answer !== undefined || piece === undefined) return answer?.seq;
    }
    return undefined;
  }

  /** Returns the numbers of answers among some events whose calls, far above, have them. */
  answeredAbove(events: readonly ShownEvent[], around: readonly ShownEvent[]): number[] {
    const calls = new Set(around.flatMap(({ event }) => event.type === "tool_call" ? [event.call_id] : []));
    return events.filter(({ event, seq }) => {
      const isFar = event.type === "tool_result" && event.agent_id === undefined && !calls.has(event.call_id);
      return isFar && this.#ask(pieceOf(seq), seq)?.answers.some((one) => one.seq === seq && one.call !== null);
    }).map(({ seq }) => seq);
  }

  /** Sums up an agent of the agent from its beginning on, as far as it is known; null before that. */
  agent(agent_id: string, from: number): Pick<AgentCount, "events" | "calls" | "outcome"> | null {
    const sum: Pick<AgentCount, "events" | "calls" | "outcome"> = { events: 0, calls: 0, outcome: null };
    const last = this.#deps.last();
    for (let at = pieceOf(from); at <= pieceOf(last) && sum.outcome === null; at++) {
      const piece = this.#ask(at, last);
      if (piece === undefined) return at === pieceOf(from) ? null : sum;
      const { events = 0, calls = 0, outcome = null } = piece.agents.get(agent_id) ?? {};
      sum.events += events;
      sum.calls += calls;
      sum.outcome = outcome;
    }
    return sum;
  }

  /**
   * Whether all that is in a block stands in rows of agents of the agent that begin elsewhere, as far as that is known. Asks
   * about it if that `isLikely`.
   */
  isInner(block: number, { isLikely = false }: { isLikely?: boolean } = {}): boolean {
    const first = block * this.#deps.step + 1;
    const at = pieceOf(first);
    const piece = isLikely ? this.#ask(at, first) : this.#pieces.get(at);
    if (piece?.inner.has(first) !== true) return false;
    if (!piece.isHomely) {
      const all = [...piece.agents.values()];
      piece.isHomely = all.every(({ began, agent_id }) => began !== null || this.homeOf(agent_id, first) != null);
    }
    return piece.isHomely;
  }

  /** Returns those of some agents of the agent whose beginning no event tells. */
  homeless(events: readonly ShownEvent[]): string[] {
    const first = new Map<string, number>();
    for (const { event, seq } of events) {
      const id = event.type === "agent_started" ? event.parent : "agent_id" in event ? event.agent_id : undefined;
      if (id !== undefined && !first.has(id)) first.set(id, seq);
    }
    return [...first].flatMap(([id, seq]) => this.homeOf(id, seq) === null ? [id] : []);
  }

  /** Returns what is known of a piece; asks about it where it is not known up to an event. */
  #ask(at: number, upTo: number): Piece | undefined {
    const known = this.#pieces.get(at);
    if (known !== undefined && known.to >= Math.min(upTo, (at + 1) * pieceSize)) return known;
    const rest = (this.#askedAt.get(at) ?? -Infinity) + againMs - performance.now();
    if (rest > 0) this.#soon(rest);
    else if (!this.#isAsking) void this.#read(at);
    return known;
  }

  async #read(at: number): Promise<void> {
    this.#isAsking = true;
    this.#askedAt.set(at, performance.now());
    try {
      const query = { after: at * pieceSize, step: this.#deps.step };
      const { plans, agents, inner, answers, to } = await this.#deps.api.get<
        { plans: number[]; agents: AgentCount[]; inner: number[]; answers: FarAnswer[]; to: number }
      >(`${this.#deps.path}/marks`, query, this.#over.signal);
      const byId = new Map(agents.map((one) => [one.agent_id, one]));
      this.#pieces.set(at, { answers, plans, agents: byId, inner: new Set(inner), isHomely: false, to });
    } catch {
      // Rows that are not folded are whole as well; the rows themselves say that the host cannot be reached.
    } finally {
      this.#isAsking = false;
    }
    if (!this.#over.signal.aborted) this.#tell();
  }

  #soon(ms: number = againMs): void {
    this.#timer ??= setTimeout(() => this.#tell(), ms);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.version.value += 1;
    this.#deps.changed();
  }
}

function pieceOf(seq: number): number {
  return Math.floor((seq - 1) / pieceSize);
}
