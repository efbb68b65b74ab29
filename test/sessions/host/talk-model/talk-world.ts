import { nextTurn } from "../../../../core/ground/platform/engine/next-turn.ts";
import { sessionPages } from "../../../../core/records/journal/read-page.ts";
import type { MessageTerms } from "../../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { errorDataOf } from "../../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { type Asked, faultsOfTalk, type SentMessage, shortOf } from "../../../crash/talk-outcomes.ts";
import { Random } from "../../../fuzz/random.ts";
import { createMemoryJournal } from "../../../records/journal/memory-journal.ts";
import type { Stage } from "../../session/scripted-session.ts";
import { type HeldDisk, holdJournal } from "./held-journal.ts";
import { type Abilities, abilitiesOf, type AgentKind, ModelAgent, textOf } from "./model-agent.ts";
import { ModelHost } from "./model-host.ts";

export interface TalkSchedule {
  seed: number;
  kind: AgentKind;
  /** Without crashes, kills and stops of a session. */
  calm: boolean;
  clock: TestClock;
}

/** The clock that the host's parts see. */
interface TestClock {
  advance(ms: number): void;
  /** Forgets what still waits for it. */
  clear(): void;
}

/**
 * Plays one random schedule of clients, agents, crashes and kills on the parts of a host that carry messages; returns what
 * broke a rule.
 */
export async function playTalk(schedule: TalkSchedule): Promise<{ faults: string[]; outcomes: string[] }> {
  const world = new TalkWorld(schedule);
  try {
    await world.play();
    return await world.judge();
  } catch (error) {
    return { faults: [`it failed: ${error instanceof Error ? error.stack : String(error)}`], outcomes: [] };
  } finally {
    schedule.clock.clear();
  }
}

/** How a message's client gives it. */
interface Given {
  delivery: SentMessage["delivery"];
  content: { type: "text"; text: string }[];
  with?: MessageTerms;
}

type Action = [weight: number, act: () => unknown, can?: boolean];

class TalkWorld {
  readonly #random: Random;
  readonly #schedule: TalkSchedule;
  readonly #accepts: Abilities;
  readonly #journal = createMemoryJournal();
  #disk: HeldDisk = holdJournal(this.#journal);
  /** Null while it starts, or closes. */
  #host: ModelHost | null = null;
  #newest!: ModelHost;
  /** Counts the hosts: nothing of a former one counts any more. */
  #hosts = 0;
  #agent: ModelAgent | null = null;
  #conversation: string | null = null;
  readonly #sent: SentMessage[] = [];
  readonly #given = new Map<string, Given>();
  readonly #seen: { token: string; at: string }[] = [];
  readonly #faults: string[] = [];
  #terms = 0;
  #calls = 0;
  /** Calls of clients that the host has not answered. */
  #unanswered = 0;

  constructor(schedule: TalkSchedule) {
    this.#schedule = schedule;
    this.#random = new Random(schedule.seed);
    this.#accepts = abilitiesOf(schedule.kind, this.#random);
  }

  async play(): Promise<void> {
    this.#open({ isStaying: true });
    await this.#rest();
    const request: SessionRequest = {
      workdir: "/w",
      prompt: this.#random.once(6) ? "" : textOf("first", 1),
      keep_ms: this.#random.once(4) ? 0 : 60_000,
      retry: this.#random.once(3) ? "safe" : "never",
      ...(this.#random.once(2) ? { resume: "after_restart" as const } : {}),
    };
    if (request.prompt === "") request.keep_ms = 60_000;
    const begun = this.#host!.begin(request);
    await this.#rest();
    this.#conversation = await begun;
    this.#disk.write(Infinity);
    const steps = 40 + this.#random.below(60);
    for (let step = 0; step < steps; step++) {
      await this.#step();
      for (let turns = this.#random.below(4); turns > 0; turns--) await this.#turn();
    }
    await this.#end();
  }

  /** Returns what is wrong with all that happened. */
  async judge(): Promise<{ faults: string[]; outcomes: string[] }> {
    const events: Envelope[] = [];
    for (const { session_id } of await this.#journal.sessions({ limit: 1000 })) {
      for await (const page of sessionPages(this.#journal, session_id)) events.push(...page);
    }
    // A turn that is tried again shows its prompt again.
    const seen = this.#seen.filter(({ token, at }, index) =>
      this.#seen.findIndex((one) => one.token === token && one.at === at) === index
    ).map(({ token }) => token);
    const outcomes = events.flatMap(({ event }) =>
      event.type === "message_delivered" ? [event.how] : event.type === "message_dropped" ? [event.reason] : []
    );
    const faults = [...this.#faults];
    if (this.#schedule.calm && outcomes.includes("unsure")) faults.push("a message is unsure without a crash");
    const told = faultsOfTalk(events, { sent: this.#sent, seen });
    // The log of the sessions, for who looks for the cause.
    faults.push(...told.length > 0 || faults.length === 0 ? told : events.map(shortOf));
    return { faults, outcomes };
  }

  async #step(): Promise<void> {
    const { calm, kind } = this.#schedule;
    const [host, agent, random] = [this.#host, this.#agent?.isOver === false ? this.#agent : null, this.#random];
    const live = host?.ofConversation(this.#conversation!);
    const isKept = host !== null && host.kept.size > 0;
    const able: Action[] = [
      [8, () => this.#disk.write(1), this.#disk.waiting > 0],
      [20, () => this.#disk.write(Infinity), this.#disk.waiting > 0],
    ];
    if (host !== null) {
      able.push(
        [9, () => this.#say()],
        [3, () => this.#sayAgain(), this.#sent.some(({ answer }) => answer === "unknown")],
        [1, () => this.#sayAgain({ any: true }), this.#sent.length > 0],
        [2, () => this.#edit(), this.#sent.length > 0],
        [2, () => this.#withdraw(), this.#sent.length > 0],
        [1, () => this.#stop(), random.once(2)],
        [1, () => void this.#terms++, random.once(3)],
        [1, () => [...host.kept][0]!.end(), isKept && random.once(2)],
        [1, () => this.#schedule.clock.advance(70_000), isKept && random.once(2)],
      );
    }
    if (agent !== null) {
      able.push(
        [15, () => void agent.pull(), agent.canPull],
        [8, () => agent.read(), agent.canRead],
        [agent.isStopped ? 20 : 5, () => agent.finish(random), agent.isWorking],
        [1, () => agent.finish(random, { fails: true }), agent.isWorking && random.once(2)],
        [8, () => agent.ask(), agent.isFinished],
        [1, () => agent.beginUnasked(), agent.isAsking && kind === "queues" && random.once(2)],
        [1, () => this.#rogue(agent), random.once(3)],
      );
      if (!calm) {
        able.push(
          [2, () => agent.end({ code: "crash", message: "The worker died." })],
          [1, () => agent.end({ code: "fatal", message: "The adapter threw." })],
        );
      }
    }
    if (!calm) {
      // A retry waits.
      able.push([1, () => this.#schedule.clock.advance(20_000), live !== undefined && random.once(2)]);
      able.push([1, () => live!.session.stop("interrupted", "enough"), live !== undefined && random.once(4)]);
      able.push([1, () => this.#kill()]);
      able.push([1, () => this.#close(host!), host !== null && random.once(4)]);
    }
    const can = able.filter(([, , is = true]) => is);
    let at = random.below(can.reduce((sum, [weight]) => sum + weight, 0));
    const [, act] = can.find(([weight]) => (at -= weight) < 0) ?? [0, () => {}];
    await act();
  }

  // Clients.

  #say(): void {
    const random = this.#random;
    const id = `m${this.#sent.length + 1}`;
    const delivery = random.pick(["queue", "queue", "steer", "steer", "steer", "interrupt"] as const);
    const given: Given = { delivery, content: [{ type: "text", text: textOf(id, 1) }] };
    if (random.once(20)) given.with = { approval: random.pick(["all", "deny"] as const) };
    const message: SentMessage = { id, delivery, ...this.#asked(), edits: [], isWithdrawn: false };
    this.#sent.push(message);
    this.#given.set(id, given);
    this.#ask(message, (host) => host.conversations.say(this.#conversation!, { message_id: id, ...given }));
  }

  /** Sends the very same message again. */
  #sayAgain({ any = false } = {}): void {
    // One that was changed is another one where its session has ended.
    const same = this.#sent.filter(({ answer, edits }) => (any || answer === "unknown") && edits.length === 0);
    const message = this.#random.pick(same);
    if (message === undefined) return;
    const given = this.#given.get(message.id)!;
    const again = { ...this.#asked(), answer: message.answer };
    this.#ask(
      again,
      (host) => host.conversations.say(this.#conversation!, { message_id: message.id, ...given }),
      () => {
        if (message.answer === "unknown") Object.assign(message, { answer: again.answer, ended: again.ended });
        if (message.answer === "accepted" && again.answer === "refused" && message.edits.length === 0) {
          this.#faults.push(`${message.id} was accepted, and is refused when it comes again`);
        }
      },
    );
  }

  #edit(): void {
    const message = this.#random.pick(this.#sent.filter(({ answer }) => answer === "accepted"));
    if (message === undefined) return;
    const edit = this.#asked();
    const version = message.edits.push(edit) + 1;
    const content = [{ type: "text" as const, text: textOf(message.id, version) }];
    this.#ask(edit, (host) => host.conversations.edit(this.#conversation!, message.id, content));
  }

  #withdraw(): void {
    const message = this.#random.pick(this.#sent.filter(({ answer }) => answer === "accepted"));
    if (message === undefined) return;
    this.#ask(this.#asked(), (host) => host.conversations.withdraw(this.#conversation!, message.id), (answer) => {
      if (answer === "accepted") message.isWithdrawn = true;
    });
  }

  #stop(): void {
    const drop_pending = this.#random.once(4);
    this.#ask(this.#asked(), (host) => host.conversations.stop(this.#conversation!, { drop_pending }));
  }

  #asked(): Asked {
    return { answer: "unknown", began: ++this.#calls, ended: Infinity };
  }

  /** Makes a call of a client, which a killed host never answers. */
  #ask(
    one: Asked,
    call: (host: ModelHost) => Promise<unknown>,
    then: (answer: Asked["answer"]) => void = () => {},
  ): void {
    const number = this.#hosts;
    this.#unanswered++;
    const settle = (answer: Asked["answer"]) => {
      if (number !== this.#hosts) return;
      this.#unanswered--;
      if (answer === "unknown") return;
      Object.assign(one, { answer, ended: ++this.#calls });
      then(answer);
    };
    call(this.#host!).then(() => settle("accepted"), (error: unknown) => {
      const data = errorDataOf(error);
      if (data === null) this.#faults.push(`a call failed: ${String(error)}`);
      // The host may have kept it before it closed.
      settle(data === null || data.code === "host_closed" ? "unknown" : "refused");
    });
  }

  #rogue(agent: ModelAgent): void {
    const message = this.#random.pick(this.#sent);
    if (message === undefined) return;
    // What it says of a message that it has would be believed.
    const known = this.#newest.ofConversation(this.#conversation!)?.session.talk.messages ?? [];
    if (known.some(({ message_id, state }) => message_id === message.id && state === "sent")) return;
    agent.sayOf(message.id, this.#random.pick(["taken", "returned"] as const));
  }

  // The host.

  #open({ isStaying }: { isStaying: boolean }): void {
    const number = ++this.#hosts;
    this.#host = null;
    this.#agent = null;
    this.#unanswered = 0;
    const enter = async (session: string, stage: Stage) => {
      if (number !== this.#hosts) return await new Promise<never>(() => {});
      const { kind } = this.#schedule;
      const onSeen = (token: string, turn: number) => {
        if (number === this.#hosts) this.#seen.push({ token, at: `${session}/${turn}` });
      };
      const agent = this.#agent = new ModelAgent({ kind, accepts: this.#accepts, stage, onSeen });
      return await agent.ended;
    };
    const options = { disk: this.#disk, accepts: this.#accepts, isStaying, enter, terms: () => this.#terms };
    const host = this.#newest = new ModelHost(options);
    host.open().then(() => {
      if (number === this.#hosts) this.#host = host;
    }, (error: unknown) => this.#faults.push(`a host does not start: ${String(error)}`));
  }

  /** The host dies with what it has not written, and another one starts. */
  #kill(): void {
    this.#disk.kill(this.#random.below(this.#disk.waiting + 1));
    this.#disk = holdJournal(this.#journal);
    this.#open({ isStaying: !this.#random.once(5) });
  }

  /** The host closes in order, and another one starts. */
  async #close(host: ModelHost): Promise<void> {
    this.#host = null;
    let isClosed = false;
    const closing = host.close().then(() => (isClosed = true));
    for (let left = 1000; !isClosed && left > 0; left--) await this.#calmTurn();
    if (!isClosed) return void this.#faults.push("a host does not close");
    await closing;
    this.#kill();
  }

  // Time.

  /** Has the work of one turn of the event loop done. */
  async #turn(): Promise<void> {
    this.#newest.hurry();
    do await nextTurn(); while (this.#newest.isLeaving);
  }

  async #calmTurn(): Promise<void> {
    this.#disk.write(Infinity);
    await this.#turn();
  }

  async #rest(): Promise<void> {
    for (let turns = 0; turns < 12; turns++) await this.#calmTurn();
  }

  /** Has everything come to rest, and ends what is kept. */
  async #end(): Promise<void> {
    for (let left = 400; left > 0; left--) {
      await this.#rest();
      const host = this.#host;
      if (host === null) continue;
      const isAnswered = this.#unanswered === 0;
      const asked = host.conversations.get(this.#conversation!);
      await this.#rest();
      const report = await Promise.race([asked, nextTurn().then(() => null)]);
      const agent = this.#agent;
      if (report?.state === "ended" && isAnswered) return await this.#rest();
      if (agent !== null && !agent.isOver) {
        if (agent.isWorking) agent.finish(this.#random);
        else if (agent.isFinished) agent.ask();
        else if (report?.state === "kept" && report.pending.length === 0) { for (const one of host.kept) one.end(); }
      } else this.#schedule.clock.advance(70_000);
    }
    this.#faults.push("it never came to rest");
  }
}
