import { Mailbox } from "../../../core/sessions/session/mailbox.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type BulkheadError, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { deliveries, type Delivery, type Part } from "../../../plugin-sdk/messages.ts";
import { Random } from "../../fuzz/random.ts";
import { faultsOf, ModelLog, type Seen } from "./mailbox-log.ts";

/** What the agent of an adapter does with a steer: reads it, may begin a turn with it by itself, or gives it back. */
export const agentKinds = ["injects", "queues", "cannot_steer"] as const;
export type AgentKind = (typeof agentKinds)[number];

type Event = Envelope["event"];
type Message = NonNullable<Mailbox["next"]>;
type Told =
  | { say: "message"; id: string; state: "taken" | "returned" }
  | { say: "began"; ids: string[] }
  | { say: "asks" };

/** An adapter with its agent; one is made for each entry. */
interface Adapter {
  state: "working" | "finished" | "asking";
  /** Steers that the agent has and has not read. */
  has: string[];
  /** What it has said and the host has not heard. */
  told: Told[];
}

/** Something on its way to the adapter, once the log is durable up to there. */
interface HandOver {
  after: number;
  /** Null: the session's own prompt. */
  message: Message | null;
}

interface Session {
  id: string;
  mailbox: Mailbox;
  turn: number | null;
  adapter: Adapter | null;
  /** The message that is the running turn's prompt. */
  prompt: Message | null;
  handing: HandOver | null;
  steer: HandOver | null;
  ended: boolean;
}

/** What the model knows of a message by its events alone. */
interface Known {
  number: number;
  delivery: Delivery;
  /** The clients' content, with the place in the log that says so. */
  contents: { at: number; text: string }[];
}

export interface ScheduleOptions {
  seed: number;
  kind: AgentKind;
  /** Without crashes, kills and stops of the session. */
  calm: boolean;
  make?: (() => Mailbox) | undefined;
}

/** Runs one random schedule of clients, host, adapter, crashes and kills; returns what broke a rule. */
export function runSchedule(options: ScheduleOptions): { faults: string[]; outcomes: string[] } {
  const world = new World(options);
  const steps = 40 + world.random.below(80);
  try {
    for (let step = 0; step < steps; step++) world.step();
    world.end();
  } catch (error) {
    world.faults.push(String(error));
  }
  const { faults, log, seen, disordered } = world;
  const outcomes = log.written.flatMap(({ event }) =>
    event.type === "message_delivered" ? [event.how] : event.type === "message_dropped" ? [event.reason] : []
  );
  return { faults: [...faults, ...disordered(), ...faultsOf({ log, seen, calm: options.calm })], outcomes };
}

class World {
  readonly random: Random;
  readonly log = new ModelLog();
  readonly seen: Seen[] = [];
  readonly faults: string[] = [];
  readonly #options: ScheduleOptions;
  readonly #known = new Map<string, Known>();
  #head: Session;
  #sessions = 0;
  #turns = 0;
  #messages = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.random = new Random(options.seed);
    this.#head = this.#session();
    this.#begin(this.#head, null);
  }

  /** Does one of the things that can happen now. */
  step(): void {
    const head = this.#head;
    const { adapter, mailbox, handing, steer } = head;
    const does: [weight: number, act: () => void, can?: boolean][] = [
      [7, () => this.#send()],
      [1, () => this.#sendAgain(), this.random.once(3)],
      [1, () => this.#edit()],
      [1, () => this.#withdraw()],
      [1, () => this.#write(head, mailbox.stopTurn({ dropPending: this.random.once(3) })), this.random.once(4)],
      [6, () => this.log.durable = this.random.pick(this.log.open)],
      [10, () => this.log.durable = this.log.written.length],
    ];
    if (!head.ended) {
      const isReady = (one: HandOver | null) => one !== null && this.log.durable >= one.after;
      does.push(
        [6, () => this.#begin(head, mailbox.next), head.turn === null && mailbox.next !== null],
        [15, () => this.#handPrompt(head), isReady(handing)],
        // Where the adapter has asked for the next turn, the steer stays with the host, which hears that first.
        [15, () => this.#handSteer(head, adapter!), adapter !== null && adapter.state !== "asking" && isReady(steer)],
        [15, () => this.#pull(head), adapter?.state === "working" && steer === null],
        [7, () => this.#read(head, adapter!), adapter?.state === "working" && adapter.has.length > 0],
        [5, () => this.#finish(head, adapter!), adapter?.state === "working"],
        [6, () => this.#ask(adapter!), adapter?.state === "finished"],
        [9, () => this.#hear(head, adapter!), adapter !== null && adapter.told.length > 0],
        [1, () => this.#rogue(head), adapter !== null && this.random.once(2)],
        [1, () => this.#beginUnasked(adapter!), this.#options.kind === "queues" && adapter?.state === "asking"],
        [1, () => this.#endInOrder(head), head.turn === null && handing === null && this.random.once(3)],
      );
      if (!this.#options.calm) {
        does.push(
          [3, () => this.#crash(head), adapter !== null],
          [1, () => this.#endInOrder(head), this.random.once(10)],
        );
      }
    }
    if (!this.#options.calm) does.push([1, () => this.#kill(), this.random.once(3)]);
    const able = does.filter(([, , can = true]) => can);
    let at = this.random.below(able.reduce((sum, [weight]) => sum + weight, 0));
    able.find(([weight]) => (at -= weight) < 0)![1]();
  }

  /** Ends what still runs, in a calm schedule at its own pace; a log must also give the state that the host had. */
  end(): void {
    for (let left = 1000; this.#options.calm && this.#head.turn !== null && left > 0; left--) this.#goOn(this.#head);
    const { mailbox, id, ended } = this.#head;
    if (ended) return;
    const again = new Mailbox();
    for (const event of this.log.of(id)) again.take(event);
    const [was, is] = [mailbox, again].map(({ pending }) => pending.map(({ message_id }) => message_id).join());
    if (was !== is) this.#fault(`the log gives ${is}, the host had ${was}`);
    this.#endInOrder(this.#head);
  }

  #goOn(session: Session): void {
    const { adapter } = session;
    this.log.durable = this.log.written.length;
    if (session.handing !== null) this.#handPrompt(session);
    else if (adapter === null) return;
    else if (session.steer !== null && adapter.state !== "asking") this.#handSteer(session, adapter);
    else if (adapter.told.length > 0) this.#hear(session, adapter);
    else if (adapter.state === "working") this.#finish(session, adapter);
    else this.#ask(adapter);
  }

  /** Agents see the messages of one delivery in the order of their acceptance. */
  disordered = (): string[] =>
    deliveries.flatMap((delivery) => {
      const numbers = [...new Set(this.seen.map(({ id }) => id))].map((id) => this.#known.get(id))
        .flatMap((one) => one?.delivery === delivery ? [one.number] : []);
      const sorted = [...numbers].sort((a, b) => a - b);
      return numbers.join() === sorted.join() ? [] : [`${delivery}: seen in the order ${numbers.join()}`];
    });

  #fault(text: string): void {
    this.faults.push(text);
  }

  #session(): Session {
    const { make = () => new Mailbox() } = this.#options;
    const id = `s${++this.#sessions}`;
    this.log.write(id, [{ type: "gap", from_seq: 0, to_seq: 0 }]);
    const nothing = { turn: null, adapter: null, prompt: null, handing: null, steer: null };
    return { id, mailbox: make(), ...nothing, ended: false };
  }

  #write({ id }: Session, events: readonly Event[]): void {
    this.log.write(id, events);
  }

  // Clients.

  #send(): void {
    const id = `m${++this.#messages}`;
    const delivery = this.random.pick(["queue", "steer", "steer", "steer", "interrupt"] as const);
    const message = { message_id: id, delivery, content: textOf(`${id} first`), by: { client: "c" } };
    const { turn } = this.#head;
    if (this.random.once(8)) {
      const wrong = (turn ?? 0) + 1;
      const code = codeOf(() => this.#head.mailbox.accept({ ...message, expected_turn: wrong }));
      if (code !== "conflict") this.#fault(`${id} for turn ${wrong} is accepted in turn ${turn}: ${code}`);
      return;
    }
    const expected_turn = turn !== null && this.random.once(4) ? turn : undefined;
    let accepted = this.#head.mailbox.accept({ ...message, expected_turn });
    if (accepted.state === "closed") {
      this.#head = this.#session();
      accepted = this.#head.mailbox.accept(message);
    }
    this.#write(this.#head, accepted.events);
    const isLogged = this.log.of(this.#head.id).some((event) => "message_id" in event && event.message_id === id);
    if (accepted.state !== "pending" || !isLogged) this.#fault(`${id} is ${accepted.state}, and not in the log`);
    const at = this.log.written.length;
    this.#known.set(id, { number: this.#messages, delivery, contents: [{ at, text: `${id} first` }] });
  }

  #sendAgain(): void {
    const accepted = this.log.of(this.#head.id).filter((event) => event.type === "message_accepted");
    if (accepted.length === 0) return;
    const { type: _, ...again } = this.random.pick(accepted);
    const { message_id: id } = again;
    const { mailbox } = this.#head;
    const before = JSON.stringify(mailbox.pending);
    const same = mailbox.accept(again);
    if (same.events.length > 0 || same.state === "closed") this.#fault(`${id} is accepted again: ${same.state}`);
    const code = codeOf(() => mailbox.accept({ ...again, content: textOf("other") }));
    if (code !== "idempotency_conflict") this.#fault(`${id} with other content: ${code}`);
    if (JSON.stringify(mailbox.pending) !== before) this.#fault(`${id} was sent again and changed what is pending`);
  }

  #edit(): void {
    const id = this.random.pick([...this.#known.keys()]);
    if (id === undefined) return;
    const text = `${id} edit ${this.log.written.length}`;
    const isPending = this.#states().get(id) === "pending" && !this.#head.ended;
    if (!isPending && !this.random.once(4)) return;
    const code = codeOf(() => this.#write(this.#head, this.#head.mailbox.edit(id, textOf(text))));
    if ((code === null) !== isPending) this.#fault(`the edit of ${id}, pending ${isPending}: ${code}`);
    if (isPending) this.#known.get(id)!.contents.push({ at: this.log.written.length, text });
  }

  #withdraw(): void {
    const id = this.random.pick([...this.#known.keys()]);
    if (id === undefined) return;
    const isPending = this.#states().get(id) === "pending" && !this.#head.ended;
    if (!isPending && !this.random.once(4)) return;
    const code = codeOf(() => this.#write(this.#head, this.#head.mailbox.withdraw(id)));
    if ((code === null) !== isPending) this.#fault(`the withdrawal of ${id}, pending ${isPending}: ${code}`);
  }

  /** What the head's events alone say of its messages. */
  #states(): Map<string, "pending" | "sent" | "over"> {
    const states = new Map<string, "pending" | "sent" | "over">();
    for (const event of this.log.of(this.#head.id)) {
      if (event.type === "message_accepted") states.set(event.message_id, "pending");
      else if (event.type === "message_sent") states.set(event.message_id, "sent");
      else if (event.type === "message_delivered") states.set(event.message_id, "over");
      else if (event.type === "message_dropped") states.set(event.message_id, "over");
      else if (event.type === "message" && event.state === "returned" && states.get(event.message_id) === "sent") {
        states.set(event.message_id, "pending");
      }
    }
    return states;
  }

  // The host's loop over turns.

  #begin(session: Session, message: Message | null): void {
    const turn = ++this.#turns;
    if (message !== null) this.#checkNext(message, ["interrupt", "steer", "queue"]);
    const events = session.mailbox.beginTurn(turn, message?.message_id);
    this.#write(session, [...events, turnStarted(turn, message === null ? [] : [message.message_id])]);
    Object.assign(session, { turn, prompt: message, handing: { after: this.log.written.length, message } });
  }

  /** The chosen message is the first of those that wait. */
  #checkNext({ message_id }: Message, order: readonly Delivery[]): void {
    const rank = (id: string) => order.indexOf(this.#known.get(id)!.delivery) * 1e6 + this.#known.get(id)!.number;
    const waiting = [...this.#states()].flatMap(([id, state]) => state === "pending" ? [id] : [])
      .filter((id) => order.includes(this.#known.get(id)!.delivery)).sort((a, b) => rank(a) - rank(b));
    if (waiting[0] !== message_id) this.#fault(`${message_id} is next, and ${waiting.join()} wait`);
  }

  #handPrompt(session: Session): void {
    const { message } = session.handing!;
    session.handing = null;
    session.adapter ??= { state: "working", has: [], told: [] };
    session.adapter.state = "working";
    session.adapter.told = session.adapter.told.filter(({ say }) => say !== "asks");
    if (message !== null) this.#see(session, message.message_id, message.content);
  }

  #see({ id: session, turn }: Session, id: string, content?: Part[]): void {
    this.seen.push({ id, at: `${session}/${turn}` });
    const last = this.#known.get(id)?.contents.at(-1)?.text;
    if (content !== undefined && content.map((part) => part.type === "text" ? part.text : "").join() !== last) {
      this.#fault(`${id} is seen as ${JSON.stringify(content)}, and is "${last}"`);
    }
  }

  #pull(session: Session): void {
    if (this.#options.kind === "cannot_steer" && this.random.once(2)) return;
    const pulled = session.mailbox.pullSteer();
    if (pulled === null) return;
    if (session.mailbox.isStopping) this.#fault(`${pulled.message.message_id} goes into a turn that stops`);
    this.#checkNext(pulled.message, ["steer"]);
    this.#write(session, pulled.events);
    session.steer = { after: this.log.written.length, message: pulled.message };
  }

  #handSteer(session: Session, adapter: Adapter): void {
    const { message_id: id } = session.steer!.message!;
    session.steer = null;
    if (adapter.state === "working" && this.#options.kind !== "cannot_steer") adapter.has.push(id);
    else adapter.told.push({ say: "message", id, state: "returned" });
  }

  /** The host keeps a steer that it has not handed over, and says so in the adapter's place. */
  #takeBack(session: Session): void {
    const id = session.steer?.message?.message_id;
    session.steer = null;
    if (id === undefined) return;
    const event = { type: "message", message_id: id, state: "returned" } as const;
    this.#write(session, [event, ...session.mailbox.heard(event)]);
  }

  #hear(session: Session, adapter: Adapter): void {
    const told = adapter.told.shift()!;
    switch (told.say) {
      case "message": {
        const event = { type: "message", message_id: told.id, state: told.state } as const;
        this.#write(session, [event]);
        return this.#write(session, session.mailbox.heard(event));
      }
      // The host has begun a turn meanwhile, whose prompt is on its way: what the agent does belongs to that one.
      case "began":
        return session.handing === null ? this.#began(session, told.ids) : undefined;
      case "asks":
        if (session.handing !== null) return;
        this.#takeBack(session);
        return this.#endTurn(session, this.random.once(8));
    }
  }

  #began(session: Session, ids: string[]): void {
    this.#write(session, [{ type: "turn_began", message_ids: ids }]);
    const turn = ++this.#turns;
    session.turn = turn;
    this.#write(session, [...session.mailbox.turnBegan(turn, ids), turnStarted(turn, ids)]);
  }

  #endTurn(session: Session, failed: boolean): void {
    const drops = failed && !session.mailbox.isStopping;
    const events = session.mailbox.endTurn({ failed });
    this.#write(session, events);
    session.turn = null;
    if (drops && session.mailbox.next !== null) this.#fault("a failed turn left something behind it");
    if (!drops && events.some((event) => "reason" in event && event.reason === "turn_failed")) {
      this.#fault("a turn that did not fail dropped something");
    }
    const { next } = session.mailbox;
    if (next !== null) return this.random.once(6) ? this.#changeTerms(session) : this.#begin(session, next);
    if (this.random.once(5)) this.#endInOrder(session);
  }

  /** Another session goes on with what is pending. */
  #changeTerms(session: Session): void {
    const next = this.#session();
    for (const message of session.mailbox.pending) this.#write(next, next.mailbox.accept(message).events);
    this.#write(session, [...session.mailbox.close({ to: () => next.id }), ended]);
    session.ended = true;
    this.#head = next;
  }

  #endInOrder(session: Session): void {
    this.#takeBack(session);
    this.#write(session, [...session.mailbox.close(), ended]);
    Object.assign(session, { ended: true, adapter: null, handing: null, turn: null });
  }

  // The adapter and its agent.

  #read(session: Session, adapter: Adapter): void {
    const id = adapter.has.shift()!;
    this.#see(session, id);
    adapter.told.push({ say: "message", id, state: "taken" });
  }

  #finish(session: Session, adapter: Adapter): void {
    const { has } = adapter;
    if (this.#options.kind === "queues" && has.length > 0 && !this.random.once(3)) {
      const ids = has.splice(0, 1 + this.random.below(has.length));
      for (const id of ids) this.#see(session, id);
      adapter.told.push({ say: "began", ids });
      return;
    }
    for (const id of has.splice(0)) adapter.told.push({ say: "message", id, state: "returned" });
    adapter.state = "finished";
  }

  #ask(adapter: Adapter): void {
    adapter.told.push({ say: "asks" });
    adapter.state = "asking";
  }

  #beginUnasked(adapter: Adapter): void {
    if (adapter.told.length > 0 || this.#head.turn !== null) return;
    adapter.state = "working";
    adapter.told.push({ say: "began", ids: [] });
  }

  /** An adapter may say anything of messages that it does not have. */
  #rogue(session: Session): void {
    const others = [...this.#known.keys(), "never"].filter((id) => this.#states().get(id) !== "sent");
    const message_id = this.random.pick(others);
    const event = { type: "message", message_id, state: this.random.pick(["taken", "returned"] as const) } as const;
    this.#write(session, [event]);
    this.#write(session, session.mailbox.heard(event));
  }

  /** The adapter dies; the host may have heard some of its last words. The turn is tried again, or fails. */
  #crash(session: Session): void {
    const adapter = session.adapter!;
    while (session.adapter === adapter && adapter.told.length > 0 && this.random.once(2)) this.#hear(session, adapter);
    if (session.adapter !== adapter || session.ended || this.#head !== session) return;
    session.adapter = null;
    this.#takeBack(session);
    this.#write(session, session.mailbox.endAttempt());
    if (session.turn === null || session.handing !== null) return;
    if (this.random.once(2)) return this.#endTurn(session, true);
    session.handing = { after: this.log.written.length, message: null };
  }

  /** The host dies. The next one ends what it finds, and may die as well before it is done. */
  #kill(): void {
    this.log.cut(this.random.pick(this.log.open));
    for (const [id, { contents }] of this.#known) {
      while (contents.length > 0 && contents.at(-1)!.at > this.log.durable) contents.pop();
      if (contents.length > 0) continue;
      this.#known.delete(id);
      if (this.seen.some((one) => one.id === id)) this.#fault(`${id} was seen and is in no log`);
    }
    const left = this.log.unended;
    const next = this.random.once(3) ? null : this.#session();
    const taken = new Map<string, string>();
    const closes = left.reverse().map((session) => {
      const mailbox = new Mailbox();
      for (const event of this.log.of(session)) mailbox.take(event);
      for (const one of mailbox.pending) {
        if (next !== null && !taken.has(one.message_id)) this.#write(next, next.mailbox.accept(one).events);
      }
      const events = mailbox.close({ reason: "host_restarted", to: (id) => taken.get(id) ?? next?.id });
      for (const event of this.log.of(session)) {
        if (event.type === "message_accepted" && !taken.has(event.message_id)) taken.set(event.message_id, session);
      }
      return () => this.log.write(session, [...events, ended]);
    });
    // The older one first: its messages may be in the newer one, whose end would not say so.
    for (const close of closes.reverse()) {
      if (this.random.once(8)) return this.#kill();
      close();
    }
    if (next !== null) this.#head = next;
    else this.#head = { ...this.#session(), ended: true };
    if (next === null) this.#write(this.#head, [...this.#head.mailbox.close(), ended]);
    else if (this.random.once(2)) this.#begin(next, null);
  }
}

const ended = { type: "session_ended", result: {} } as Event;

function turnStarted(turn: number, message_ids: string[]): Event {
  return {
    type: "turn_started",
    turn,
    after: turn - 1,
    message_ids,
    by: "client",
    memory: "agent",
    prompt_sha256: "",
    checkpoint: null,
  };
}

function textOf(text: string): Part[] {
  return [{ type: "text", text }];
}

function codeOf(act: () => unknown): BulkheadError["code"] | null {
  try {
    act();
    return null;
  } catch (error) {
    const data = errorDataOf(error);
    if (data === null) throw error;
    return data.code;
  }
}
