import { type CliEnding, isWork } from "./cli-ending.ts";
import type { CliTalk } from "./cli-talk.ts";
import type { AdapterContext, ProcessExit, RunningProcess } from "./context.ts";
import type { AdapterEvent } from "./events.ts";
import type { OpenWork } from "./open-work.ts";
import { withOrderedInput } from "./ordered-input.ts";
import { Settling } from "./settling.ts";
import type { Turn, TurnMessage } from "./turns.ts";

/** Silence in milliseconds after which a turn of a kept program is over: late words belong to it. */
const quietMs = 150;
/** Longest wait in milliseconds for the exit of a program that gets no more turns. */
const leaveMs = 2000;

/** Stands for a line that says that the program is done. */
const sign: AdapterEvent = { type: "progress", message: "" };
/** A program after a turn. */
const goesOn = { exit: { exit_code: null, signal: null }, kept: true };

/** Collaborators of {@link CliTurns}. */
interface CliTurnsDeps {
  ctx: AdapterContext;
  child: RunningProcess;
  talk: CliTalk;
  work: OpenWork;
  /** Text for the program before any prompt. */
  opening: string | undefined;
  /** Reads the program's output; called once. */
  read(): AsyncIterable<AdapterEvent[]>;
  newEnding(): CliEnding;
  /** Returns the last events of a turn; of a kept program that has not ended the exit says nothing. */
  end(ending: CliEnding, how: { exit: ProcessExit; kept?: boolean }): Promise<AdapterEvent[]>;
  /** Tells the program that nothing else comes. */
  leave(): Promise<void> | void;
  kill(): void;
}

/** Work on one prompt, or work that the program began by itself. */
interface TurnUnderWay {
  ending: CliEnding;
  settling: Settling;
  /** The program has printed something. */
  looked(): void;
}

type Arrival =
  | { kind: "output"; events: AdapterEvent[] }
  | { kind: "end" }
  | { kind: "over"; of: TurnUnderWay; heard: number }
  | { kind: "turn"; turn: Turn | null }
  | { kind: "returned"; message: TurnMessage }
  | { kind: "failure"; thrown: unknown };

/** Runs the turns of a session in one program; made by {@link talkInTurns}. */
export interface TalkInTurns {
  /** Returns the program as the turns need it. */
  childOf(started: RunningProcess): RunningProcess;
  turnsOf(deps: Omit<CliTurnsDeps, "talk">): Pick<CliTurns, "run" | "look">;
}

/** Makes the `talk` of a `CliAdapter`. */
export function talkInTurns(talk: CliTalk): TalkInTurns {
  return { childOf: withOrderedInput, turnsOf: (deps) => new CliTurns({ ...deps, talk }) };
}

/** The turns of a session in one program. */
class CliTurns {
  readonly #deps: CliTurnsDeps;
  readonly #turns: AsyncIterator<Turn>;
  readonly #arrivals: Arrival[] = [];
  #wake: (() => void) | null = null;
  /** The turn that the host gave last. */
  #turn: Turn | null = null;
  #underWay: TurnUnderWay | null = null;
  /** Words for the running turn that the program has not been given yet. */
  readonly #held = new Set<TurnMessage>();
  #hasSteered = false;
  #isAsking = false;
  #waiting: { turn: Turn | null } | null = null;
  #isLeft = false;
  #isGone = false;
  /** Counts what the program has said. */
  #heard = 0;

  constructor(deps: CliTurnsDeps) {
    this.#deps = deps;
    this.#turns = deps.ctx.turns[Symbol.asyncIterator]();
  }

  /** Call it when the program has printed something, also without a meaning for a client: the turn may be over by it. */
  look(): void {
    this.#underWay?.looked();
  }

  /** Runs all turns; ends with the program, or when the host has no turn for it. */
  async *run(): AsyncGenerator<AdapterEvent[], ProcessExit, void> {
    const { child, opening } = this.#deps;
    if (opening !== undefined) child.stdin.write(opening).catch(() => {});
    const first = await this.#turns.next();
    await this.#begin(first.done ? null : first.value);
    const output = this.#deps.read()[Symbol.asyncIterator]();
    this.#pull(output);
    try {
      for (;;) {
        const arrival = await this.#next();
        if (arrival.kind === "failure") throw arrival.thrown;
        if (arrival.kind === "end") break;
        if (arrival.kind === "output") {
          this.#heard++;
          for (const events of cutAtTurns(arrival.events)) yield* this.#take(events);
          this.#pull(output);
        } else if (arrival.kind === "over") yield* this.#over(arrival);
        else if (arrival.kind === "returned") yield [returned(arrival.message)];
        else if (this.#underWay !== null) this.#waiting = arrival;
        else await this.#begin(arrival.turn);
      }
      const exit = await child.exit;
      this.#isGone = true;
      if (this.#underWay !== null) yield* this.#end(this.#underWay, { exit });
      return exit;
    } finally {
      this.#isGone = true;
      this.#underWay = null;
      output.return?.().catch(() => {});
    }
  }

  /** Begins a turn in the program; without one, or with one that it cannot take, the program is told to end. */
  async #begin(turn: Turn | null): Promise<void> {
    const { child, talk, work } = this.#deps;
    const prompt = turn === null ? null : await talk.prompt(turn, this.#deps.ctx);
    if (turn === null || prompt === null) return this.#leave();
    work.forgetCalls();
    this.#turn = turn;
    this.#hasSteered = false;
    this.#underWay = this.#watch();
    // A program that is gone takes nothing: how it ends says the rest.
    child.stdin.write(prompt).catch(() => {});
    const stop = (): void => {
      if (this.#turn === turn && this.#underWay !== null && talk.stop) child.stdin.write(talk.stop()).catch(() => {});
    };
    if (turn.signal.aborted) stop();
    else turn.signal.addEventListener("abort", stop, { once: true });
    // The host ends it with the entry, at the latest.
    if (talk.steer) this.#steer(turn).catch(() => {});
  }

  async #steer(turn: Turn): Promise<void> {
    const { child, talk } = this.#deps;
    for await (const message of turn.messages) {
      if (this.#isGone) return;
      if (this.#turn !== turn || this.#underWay === null || this.#isLeft) {
        this.#arrive({ kind: "returned", message });
        continue;
      }
      this.#held.add(message);
      const text = await talk.steer?.(message, this.#deps.ctx) ?? null;
      // One that is not held was given back with the end of the turn.
      if (!this.#held.delete(message)) continue;
      if (text === null || this.#isLeft) this.#arrive({ kind: "returned", message });
      else {
        this.#hasSteered = true;
        child.stdin.write(text).catch(() => {});
      }
    }
  }

  #watch(ending: CliEnding = this.#deps.newEnding()): TurnUnderWay {
    const { ctx, talk, kill } = this.#deps;
    // A program that gets no other turn ends with its last word, and sums up at its exit.
    const isKept = this.#turn?.kept ?? false;
    const over = (): void => this.#arrive({ kind: "over", of: made, heard: this.#heard });
    const isDone = () => !(isKept || this.#hasSteered) || talk.over();
    const patience = (isLeft: boolean, endsAlone: boolean): number | null => {
      if (isLeft && isKept) return null;
      const ms = ending.patience(isLeft, endsAlone);
      return ms === null || !isDone() ? null : Math.max(ms, isKept ? quietMs : 0);
    };
    const settling = new Settling({
      get isOver() {
        return ending.isOver;
      },
      patience,
    }, {
      ctx,
      endsAlone: false,
      leave: isKept ? over : () => this.#close(),
      kill: () => this.#isGone || kill(),
    });
    let wasDone = false;
    const looked = (): void => {
      const done = isDone();
      // Events of the same lines are on their way: they come first.
      settling.heard(done && !wasDone ? [sign] : []);
      wasDone = done;
    };
    const made = { ending, settling, looked };
    return made;
  }

  async *#take(events: AdapterEvent[]): AsyncGenerator<AdapterEvent[], void, void> {
    const [first, ...rest] = events;
    const wasUnderWay = this.#underWay !== null;
    if (first?.type === "turn_began" && this.#underWay !== null) {
      // Without a last word before it, it is the same turn that goes on.
      if (!this.#underWay.ending.isOver) return yield* this.#take([...takenIn(first.message_ids), ...rest]);
      yield* this.#end(this.#underWay, goesOn);
    }
    if (this.#underWay === null) {
      if (!wasUnderWay && (this.#isLeft || !events.some(isOwnWork))) return;
      if (first?.type !== "turn_began") yield [{ type: "turn_began", message_ids: [] }];
      this.#underWay = this.#watch();
    }
    // A stop may have cut a result short that calls itself a success.
    const isStop = events.some((event) => event.type === "error" && event.code === "interrupted");
    if (isStop) this.#underWay = this.#watch();
    const { ending, settling } = this.#underWay;
    const passed = ending.take(isStop ? events.filter(({ type }) => type !== "completed") : events);
    settling.heard(events);
    if (passed.length > 0) yield passed;
  }

  async *#over({ of, heard }: { of: TurnUnderWay; heard: number }): AsyncGenerator<AdapterEvent[], void, void> {
    if (of !== this.#underWay) return;
    if (heard !== this.#heard) {
      // The program has said more since.
      this.#underWay = this.#watch(of.ending);
      return this.look();
    }
    yield* this.#end(of, goesOn);
    // A word that is on its way here is given back before the next turn.
    await this.#deps.ctx.sleep(0).catch(() => {});
    yield* this.#givenBack();
    if (this.#waiting !== null) {
      const { turn } = this.#waiting;
      this.#waiting = null;
      await this.#begin(turn);
    } else if (!this.#isAsking) this.#ask();
  }

  async *#end(
    { ending }: TurnUnderWay,
    how: { exit: ProcessExit; kept?: boolean },
  ): AsyncGenerator<AdapterEvent[], void, void> {
    for (const message of this.#held) this.#arrive({ kind: "returned", message });
    this.#held.clear();
    this.#underWay = null;
    yield* this.#givenBack();
    yield await this.#deps.end(ending, how);
  }

  *#givenBack(): Generator<AdapterEvent[], void, void> {
    for (let at = 0; at < this.#arrivals.length;) {
      const arrival = this.#arrivals[at];
      if (arrival?.kind !== "returned") at++;
      else {
        this.#arrivals.splice(at, 1);
        yield [returned(arrival.message)];
      }
    }
  }

  #ask(): void {
    this.#isAsking = true;
    this.#turns.next().then(
      ({ done, value }) => {
        this.#isAsking = false;
        this.#arrive({ kind: "turn", turn: done ? null : value });
      },
      (thrown: unknown) => this.#arrive({ kind: "failure", thrown }),
    );
  }

  #close(): Promise<void> | void {
    this.#isLeft = true;
    return this.#deps.leave();
  }

  /** Ends a program that gets no more turns. */
  #leave(): void {
    const { ctx, kill } = this.#deps;
    void Promise.resolve(this.#close()).catch(() => {});
    ctx.sleep(leaveMs).then(() => this.#isGone || kill(), () => {});
  }

  #pull(output: AsyncIterator<AdapterEvent[]>): void {
    output.next().then(
      ({ done, value }) => this.#arrive(done ? { kind: "end" } : { kind: "output", events: value }),
      (thrown: unknown) => this.#arrive({ kind: "failure", thrown }),
    );
  }

  #arrive(arrival: Arrival): void {
    this.#arrivals.push(arrival);
    this.#wake?.();
  }

  async #next(): Promise<Arrival> {
    for (;;) {
      const arrival = this.#arrivals.shift();
      if (arrival) return arrival;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}

/** Cuts a list so that each `turn_began` stands first. */
function cutAtTurns(events: readonly AdapterEvent[]): AdapterEvent[][] {
  const lists: AdapterEvent[][] = [[]];
  for (const event of events) {
    if (event.type === "turn_began") lists.push([]);
    lists.at(-1)?.push(event);
  }
  return lists.filter((list) => list.length > 0);
}

/** Whether an event shows that the program works on without a prompt. */
function isOwnWork(event: AdapterEvent): boolean {
  return isWork(event) || ["turn_began", "permission_request", "question"].includes(event.type);
}

function takenIn(messageIds: readonly string[]): AdapterEvent[] {
  return messageIds.map((message_id) => ({ type: "message", message_id, state: "taken" }));
}

function returned({ message_id }: TurnMessage): AdapterEvent {
  return { type: "message", message_id, state: "returned" };
}
