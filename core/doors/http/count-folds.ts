import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Sums of an agent of the agent among some events that follow each other. */
export interface AgentCount {
  agent_id: string;
  /** Number of its first event among them. */
  first: number;
  /** Number of the event with which it began; null where it began elsewhere. */
  began: number | null;
  name: string | null;
  /** Null: it does not end among them. */
  outcome: "completed" | "error" | "stopped" | null;
  /** Its events, with the beginnings of its own agents. */
  events: number;
  calls: number;
}

/** An answer to a call that is not in its group, nor in the one before. */
export interface FarAnswer {
  call_id: string;
  /** Number of the call; null where it is not among the events. */
  call: number | null;
  seq: number;
}

/** Notes where among a session's events its plan was changed, and counts what agents of its agent did, in groups of numbers. */
export class FoldCounting {
  /** Numbers of the changes. */
  readonly plans: number[] = [];
  /** Answers that are far from calls of the session's own agent. */
  readonly answers: FarAnswer[] = [];
  readonly #step: number;
  readonly #calls = new Map<string, number>();
  readonly #agents = new Map<string, AgentCount>();
  /** Events of agents of the agent by the number of their group. */
  readonly #inner = new Map<number, number>();

  constructor(step: number) {
    this.#step = step;
  }

  /** The first numbers of groups in which agents of the agent did all there is. */
  get inner(): number[] {
    return [...this.#inner].filter(([, events]) => events === this.#step).map(([group]) => group * this.#step + 1);
  }

  get agents(): AgentCount[] {
    return [...this.#agents.values()];
  }

  take({ event, seq }: Envelope): void {
    if (event.type === "plan") return void this.plans.push(seq);
    if (!("agent_id" in event) || event.agent_id === undefined) return this.#takeAnswer(event, seq);
    const agent = this.#of(event.agent_id, seq);
    const group = this.#groupOf(seq);
    const isOuter = event.type === "agent_started" && event.parent === undefined;
    if (!isOuter) this.#inner.set(group, (this.#inner.get(group) ?? 0) + 1);
    agent.events++;
    if (event.type === "tool_call") agent.calls++;
    if (event.type === "agent_ended") agent.outcome = event.outcome;
    if (event.type !== "agent_started") return;
    agent.began ??= seq;
    agent.name ??= event.name;
    if (event.parent !== undefined) this.#of(event.parent, seq).events++;
  }

  #takeAnswer(event: Envelope["event"], seq: number): void {
    if (event.type === "tool_call") this.#calls.set(event.call_id, seq);
    if (event.type !== "tool_result") return;
    const call = this.#calls.get(event.call_id) ?? null;
    this.#calls.delete(event.call_id);
    if (call !== null && this.#groupOf(seq) - this.#groupOf(call) < 2) return;
    this.answers.push({ call_id: event.call_id, call, seq });
  }

  #groupOf(seq: number): number {
    return Math.floor((seq - 1) / this.#step);
  }

  #of(agent_id: string, seq: number): AgentCount {
    const known = this.#agents.get(agent_id);
    if (known !== undefined) return known;
    const agent = { agent_id, first: seq, began: null, name: null, outcome: null, events: 0, calls: 0 };
    this.#agents.set(agent_id, agent);
    return agent;
  }
}
