import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import type { PlanEvent, UsageEvent } from "../../../../plugin-sdk/events.ts";
import type { Outcome } from "../../../../plugin-sdk/result.ts";
import { shortInput } from "./input-text.ts";

/** Phases of a session in which a person may wait, by the event that begins each. */
const phases = {
  session_started: "loading the plugin",
  queued: "waiting for its turn",
  attempt_started: "running",
  completed: "looking which files changed",
} as const satisfies { [T in Envelope["event"]["type"]]?: string };

/** Cost and tokens so far; null while unknown. */
interface UsedSoFar {
  cost: number | null;
  tokens: number | null;
}

/** Sums up one session while its events come: what it does, how far it is, and what it has used. */
export class SessionProgress {
  adapter: string | null = null;
  plan: PlanEvent["entries"] = [];
  currency: string | null = null;
  outcome: Outcome | null = null;
  stopReason: string | null = null;
  /** A turn has ended, and no other has begun. */
  rests = false;
  /** `seq` of the newest event. */
  seq = 0;
  /** Time of the newest event; null before the first. */
  changedAt: string | null = null;
  #phase: string = phases.attempt_started;
  /** Tools that work, by their calls. */
  readonly #calls = new Map<string, string>();
  readonly #asked = new Map<string, string>();
  /** Of the attempts before this one. */
  #before: UsedSoFar = nothing;
  #turns: UsedSoFar = nothing;
  #whole: UsedSoFar = nothing;

  /** Notes an event. */
  see({ event, adapter, seq, ts }: Pick<Envelope, "event" | "adapter" | "seq" | "ts">): void {
    this.seq = seq;
    this.changedAt = ts;
    this.adapter = adapter.id;
    if (Object.hasOwn(phases, event.type)) this.#phase = phases[event.type as keyof typeof phases];
    switch (event.type) {
      case "attempt_started":
        this.#calls.clear();
        this.#before = this.used;
        this.#turns = this.#whole = nothing;
        return;
      case "plan":
        this.plan = event.entries;
        return;
      case "usage":
        return this.#use(event);
      case "tool_call":
        return void this.#calls.set(event.call_id, `${event.tool} ${shortInput(event.input)}`.trim());
      case "tool_result":
        return void this.#calls.delete(event.call_id);
      case "permission_request":
        return void this.#asked.set(event.request_id, event.title);
      case "question":
        return void this.#asked.set(event.request_id, event.question);
      case "permission_resolved":
      case "request_withdrawn":
        return void this.#asked.delete(event.request_id);
      case "turn_started":
        this.rests = false;
        return;
      case "turn_ended":
        this.rests = true;
        return this.#calls.clear();
      case "session_ended":
        this.#asked.clear();
        this.#calls.clear();
        this.outcome = event.result.outcome;
        this.stopReason = event.result.stop_reason;
    }
  }

  /** The agent's first open request; null while it asks nothing. */
  get asks(): string | null {
    return [...this.#asked.values()][0] ?? null;
  }

  /** The tool that works now, with what it works on; else the phase. */
  get doing(): string {
    return [...this.#calls.values()].at(-1) ?? this.#phase;
  }

  get isCalling(): boolean {
    return this.#calls.size > 0;
  }

  /** The step of the plan that is under way; null without a plan. */
  get step(): { number: number; of: number; text: string } | null {
    if (this.plan.length === 0) return null;
    const working = this.plan.findIndex(({ status }) => status === "in_progress");
    const next = working >= 0 ? working : this.plan.findIndex(({ status }) => status === "pending");
    const at = next >= 0 ? next : this.plan.length - 1;
    return { number: at + 1, of: this.plan.length, text: this.plan[at]!.content };
  }

  get used(): UsedSoFar {
    const attempt = known(this.#whole, this.#turns);
    return added(this.#before, attempt);
  }

  #use({ scope, tokens_in, tokens_out, cost, currency, agent_id }: UsageEvent): void {
    // The agent's own figures hold those of its agents.
    if (agent_id !== undefined) return;
    this.currency = currency ?? this.currency ?? (cost === null ? null : "USD");
    const reported = { cost, tokens: sum(tokens_in, tokens_out) };
    if (scope === "session") this.#whole = known(reported, this.#whole);
    else this.#turns = added(this.#turns, reported);
  }
}

const nothing: UsedSoFar = { cost: null, tokens: null };

function known(first: UsedSoFar, second: UsedSoFar): UsedSoFar {
  return { cost: first.cost ?? second.cost, tokens: first.tokens ?? second.tokens };
}

function added(first: UsedSoFar, second: UsedSoFar): UsedSoFar {
  return { cost: sum(first.cost, second.cost), tokens: sum(first.tokens, second.tokens) };
}

function sum(first: number | null, second: number | null): number | null {
  return first === null && second === null ? null : (first ?? 0) + (second ?? 0);
}
