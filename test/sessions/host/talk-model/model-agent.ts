import type { TalkAbility } from "../../../../plugin-sdk/manifest.ts";
import type { Random } from "../../../fuzz/random.ts";
import { done, type Stage } from "../../session/scripted-session.ts";

/** What an adapter does with a word into its turn: its agent reads it, keeps it for a turn of its own, or cannot take it. */
export const agentKinds = ["injects", "queues", "cannot_steer"] as const;
export type AgentKind = (typeof agentKinds)[number];

/** What a manifest says of an adapter that talks. */
export type Abilities = (TalkAbility | "continue_from")[];

/** Returns what an adapter of that kind can do; those that cannot steer differ in why. */
export function abilitiesOf(kind: AgentKind, random: Random): Abilities {
  if (kind !== "cannot_steer") return ["turns", "steer", "stop_turn", "continue_from"];
  return random.pick<Abilities>([
    ["turns", "continue_from"],
    ["continue_from"],
    ["turns"],
    ["turns", "steer", "stop_turn", "continue_from"],
  ]);
}

interface AgentOptions {
  kind: AgentKind;
  accepts: Abilities;
  stage: Stage;
  /** The agent sees a message, in the turn that it works on. */
  onSeen(token: string, turn: number): void;
}

/** What an entry ends with. */
type EntryEnd = { code: "crash" | "fatal" | "interrupted"; message: string } | void;

/** An adapter with its agent, in one entry. It does nothing by itself: each step is the test's. */
export class ModelAgent {
  readonly ended: Promise<EntryEnd>;
  #state: "working" | "finished" | "asking" | "over" = "asking";
  readonly #options: AgentOptions;
  /** Steers that the agent has and has not read. */
  readonly #has: string[] = [];
  /** Messages into this turn that reached the adapter. */
  #received = { ids: [] as string[], isOver: true };
  #turn = 0;
  #isPulling = false;
  #isStopped = false;
  #end!: (end: EntryEnd) => void;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    options.stage.cancelled.then(() => this.end({ code: "interrupted", message: "It was cut off." }), () => {});
    options.stage.say({ type: "agent_info", agent_session_id: "own" });
    void this.#next();
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  get isWorking(): boolean {
    return this.#state === "working";
  }

  /** Whether the host was asked for the next turn and has not given it. */
  get isAsking(): boolean {
    return this.#state === "asking";
  }

  get isFinished(): boolean {
    return this.#state === "finished";
  }

  get canPull(): boolean {
    return this.#state === "working" && !this.#isPulling && this.#options.accepts.includes("steer");
  }

  get canRead(): boolean {
    return this.#state === "working" && this.#options.kind === "injects" && this.#has.length > 0;
  }

  /** Asks for a word into the turn. */
  async pull(): Promise<void> {
    this.#isPulling = true;
    const received = this.#received;
    const given = await this.#options.stage.wait(this.#turn, "message").catch(() => null);
    this.#isPulling = false;
    if (typeof given !== "object" || given === null || !("message_id" in given) || received.isOver) return;
    received.ids.push(String(given.message_id));
    const token = tokenIn("text" in given ? given.text : "");
    if (token !== null && !this.isOver) this.#has.push(token);
  }

  /** The agent reads the oldest word that it has. */
  read(): void {
    const token = this.#has.shift()!;
    this.#options.onSeen(token, this.#turn);
    this.#options.stage.say({ type: "message", message_id: idOf(token), state: "taken" });
  }

  /** Ends its turn; one that keeps words may go on with them. */
  finish(random: Random, { fails = false }: { fails?: boolean } = {}): void {
    const { kind, stage } = this.#options;
    if (fails) {
      this.#giveBack();
      stage.say({ type: "error", code: "fatal", message: "It failed.", recoverable: false });
    } else if (kind === "queues" && this.#has.length > 0 && !random.once(3)) {
      const tokens = this.#has.splice(0, 1 + random.below(this.#has.length));
      for (const token of tokens) this.#options.onSeen(token, this.#turn);
      return stage.say(done, { type: "turn_began", message_ids: tokens.map(idOf) });
    } else {
      this.#giveBack();
      stage.say(done);
    }
    this.#state = "finished";
  }

  /** Asks for the next turn. */
  ask(): void {
    this.#giveBack();
    void this.#next();
  }

  /** The agent begins a turn, and ends it, while the adapter waits for the next one. */
  beginUnasked(): void {
    this.#options.stage.say({ type: "turn_began", message_ids: [] }, done);
  }

  /** Says a word on a message that it may not have. */
  sayOf(message_id: string, state: "taken" | "returned"): void {
    this.#options.stage.say({ type: "message", message_id, state });
  }

  /** Whether a client has stopped its turn. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Ends the entry. */
  end(end: EntryEnd): void {
    this.#state = "over";
    this.#end(end);
  }

  #giveBack(): void {
    for (const token of this.#has.splice(0)) this.sayOf(idOf(token), "returned");
  }

  async #next(): Promise<void> {
    const { stage, accepts } = this.#options;
    this.#state = "asking";
    this.#received.isOver = true;
    const turn = await stage.next(...this.#received.ids).catch(() => null);
    // An agent sees nothing before the adapter has begun its work, which the host may hold back.
    await stage.answer("its program").catch(() => null);
    if (this.isOver) return;
    if (turn === null) return this.end();
    this.#received = { ids: [], isOver: false };
    this.#turn = turn.number;
    this.#state = "working";
    this.#isStopped = false;
    const token = tokenIn(turn.prompt);
    if (token !== null) this.#options.onSeen(token, turn.number);
    if (!accepts.includes("stop_turn")) return;
    const given = await stage.wait(turn.number, "stop").catch(() => null);
    if (given !== null && this.#turn === turn.number) this.#isStopped = true;
  }
}

/** A message's id and version in its text, and in a prompt, which may tell earlier ones before it. */
export function textOf(id: string, version: number): string {
  return `say:${id}:${version}`;
}

function tokenIn(text: unknown): string | null {
  return typeof text === "string" ? [...text.matchAll(/say:(\w+:\d+)/g)].at(-1)?.[1] ?? null : null;
}

function idOf(token: string): string {
  return token.split(":")[0]!;
}
