import {
  type AdapterContext,
  type AdapterEvent,
  BatchQueue,
  errorDataOf,
  fieldsOf,
  fieldsOrNone,
  isWords,
  type JsonFields,
  JsonRpcPeer,
  objectsOf,
  parseJsonLine,
  type RateLimitEvent,
  RpcError,
  type SessionRequest,
  tooLargeLine,
  ToolOutput,
  type Turn,
  withoutControls,
} from "bulkhead/plugin-sdk";
import { BetweenTurns } from "./between-turns.ts";
import { offerFiles } from "./client-files.ts";
import { habitsOf } from "./habits.ts";
import { Handshake } from "./handshake.ts";
import { HeldLimit } from "./held-limit.ts";
import { choose, type Greeting, type OpeningDeps, openSession, tryOpening } from "./open-session.ts";
import type { AgentOptions } from "./options.ts";
import { PermissionRequests } from "./permission-requests.ts";
import { type BlocksOf, promptBlocks, textBlock } from "./prompt-blocks.ts";
import { Quiet, type TurnState } from "./quiet.ts";
import { Steering } from "./steering.ts";
import { offerTerminals } from "./terminals.ts";
import { readRun } from "./text-run.ts";
import { TokenAccount } from "./token-account.ts";
import type { FindOutcome } from "./tool-calls.ts";
import type { Transport } from "./transport.ts";
import { turnEnd, turnFailure, turnStop } from "./turn-end.ts";
import { TurnTermChoices } from "./turn-terms.ts";
import { UpdateReader } from "./update-reader.ts";

/** How long a call that runs waits for its input before the host gets it without. */
const inputMs = 300;

/** How long the agent has for what it answers without its model. */
const asideMs = 5000;

/** A session that the agent has opened. */
interface OpenedSession {
  greeting: Greeting;
  sessionId: string;
  terms: TurnTermChoices;
}

/** One session with an agent, from the greeting to the end of its last turn. */
export class Conversation {
  readonly #ctx: AdapterContext;
  readonly #options: AgentOptions;
  readonly #contained: boolean;
  readonly #transport: Transport;
  readonly #queue = new BatchQueue<AdapterEvent>();
  readonly #account = new TokenAccount((prompt) => this.#askAside(prompt));
  readonly #reader = new UpdateReader({
    findOutcome: (terminalId) => this.#findOutcome(terminalId),
    account: this.#account,
  });
  readonly #requests: PermissionRequests;
  readonly #agent: JsonRpcPeer;
  #findOutcome: FindOutcome = () => undefined;
  #session: string | null = null;
  #opening: Promise<OpenedSession> | null = null;
  #steering: Steering | null = null;
  readonly #tools = new ToolOutput();
  #limit: HeldLimit;
  readonly #handshake = new Handshake();
  readonly #quiet: Quiet;
  #lastWord: AdapterEvent | null = null;
  #turn: Promise<void> = Promise.resolve();
  /** Whether the prompt of the turn is with the agent. */
  #isAsked = false;
  #wasAsked = false;
  /** Events since a turn's last word; null while a turn runs. */
  #between: BetweenTurns | null = null;
  #isGone = false;
  /** The session's span, as the protocol hands one on. */
  #trace: JsonFields = {};
  /** Sums up the turn that was answered, with all that came since. */
  #sumUp: (() => AdapterEvent[]) | null = null;

  /** `contained` says whether the host's walls are around the agent's program. */
  constructor(
    transport: Transport,
    { ctx, options, contained = false }: { ctx: AdapterContext; options: AgentOptions; contained?: boolean },
  ) {
    this.#ctx = ctx;
    this.#contained = contained;
    this.#options = options;
    this.#transport = transport;
    this.#quiet = new Quiet(ctx);
    this.#requests = new PermissionRequests(ctx);
    this.#limit = this.#beginLimit();
    this.#agent = this.#connect();
    transport.onOdd?.({
      tooLong: (beginning) => this.#printed(beginning, tooLargeLine(beginning)),
      unfinished: (text) => {
        if (!isWords(text)) return false;
        this.#printed(text, { type: "output", stream: "stdout", data: text });
        return true;
      },
    });
  }

  /** Whether the agent has answered its greeting: then it does speak the protocol. */
  get greeted(): boolean {
    return this.#handshake.isAnswered;
  }

  /** Whether a turn has had its last word, and the agent waits for the next one. */
  get isBetweenTurns(): boolean {
    return this.#between !== null;
  }

  /**
   * The events of the turns that the host gives. The last word of each is the last event of its batch, unless the agent left
   * before it gave one; the next turn is asked for once that batch was taken.
   * @throws {BulkheadError} `unsupported`, `invalid_model`, `invalid_request` for what the agent does not offer;
   * `unenforceable` where it does not ask
   */
  async *run(request: SessionRequest): AsyncGenerator<AdapterEvent[], void, void> {
    void this.#pump();
    const { traceparent } = request;
    if (traceparent !== undefined) this.#trace = { _meta: { traceparent } };
    const turns = this.#ctx.turns[Symbol.asyncIterator]();
    const batches = this.#queue.batches();
    try {
      for (let turn = await this.#next(turns); turn !== null; turn = await this.#next(turns)) {
        this.#begin(turn);
        this.#turn = this.#takeTurn(turn, request);
        if (!(yield* this.#told(batches))) return;
        if (this.#steering !== null) yield* this.#steering.late();
      }
    } finally {
      await batches.return();
      await this.#transport.close().catch(() => {});
    }
  }

  /** The next turn; null when the host has none, or the agent is gone. */
  async #next(turns: AsyncIterator<Turn>): Promise<Turn | null> {
    const gone = this.#quiet.ended.then(() => null);
    const next = turns.next().then(({ done, value }) => done === true ? null : value as Turn);
    next.catch(() => {});
    const turn = await Promise.race([next, ...(this.isBetweenTurns ? [gone] : [])]);
    return this.isBetweenTurns && this.#isGone ? null : turn;
  }

  /** Yields events until a turn after which another one may follow is over, or the agent has ended: then false. */
  async *#told(batches: AsyncGenerator<AdapterEvent[], void, void>): AsyncGenerator<AdapterEvent[], boolean, void> {
    for (;;) {
      const { done, value: events } = await batches.next();
      if (done === true) return false;
      yield events;
      for (const event of events.filter(isNoted)) {
        this.#tools.take(event);
        this.#requests.told(event);
      }
      if (this.isBetweenTurns && events.some(isLastWord)) return true;
    }
  }

  /** Returns the agent's greeting after checking that a session can begin; sends nothing to its model. */
  async probe(): Promise<Greeting> {
    // A probe has no reader for events, and the agent's other messages must not hold up its answers.
    this.#queue.end();
    void this.#pump();
    return await tryOpening(this.#openingDeps());
  }

  /** Asks the agent to end its turn, and resolves when it has. */
  async cancel(): Promise<void> {
    this.#requests.close();
    if (this.#session !== null) await this.#agent.notify("session/cancel", { sessionId: this.#session });
    await this.#turn;
  }

  /** Holds back what comes between two turns; returns what is told now. */
  hold(events: AdapterEvent[]): AdapterEvent[] {
    this.#between?.add(events);
    return this.isBetweenTurns ? [] : events;
  }

  /** Whether a line of the agent's error output may be what one of its tools printed, which says nothing of the agent. */
  isToolOutput(line: string): boolean {
    return this.#reader.toolsRun || this.#tools.hasPrinted(line);
  }

  /** Takes what the agent printed on its error output. */
  heardError(text: string): void {
    this.#handshake.hearError(text);
  }

  /** Takes a rate limit from the agent's error output, and returns the events that report it now. */
  limited(limit: RateLimitEvent): AdapterEvent[] {
    return this.#limit.take(limit);
  }

  #connect(): JsonRpcPeer {
    const agent = new JsonRpcPeer((message) =>
      this.#transport.send(JSON.stringify(message)).catch((thrown) => {
        // The agent never answers a message that was not sent.
        this.#queue.end({ thrown });
        throw thrown;
      })
    );
    agent.onRequest("session/request_permission", (request) => this.#requests.answer(request));
    if (this.#options.files) {
      offerFiles(agent, { fs: this.#ctx.fs, missingFileIsEmpty: this.#options.missingFileIsEmpty });
    }
    if (this.#options.terminals) this.#findOutcome = offerTerminals(agent, this.#ctx);
    return agent;
  }

  #beginLimit(): HeldLimit {
    return new HeldLimit({
      ctx: this.#ctx,
      isPrinted: (text) => this.#tools.hasPrinted(text),
      tell: (events) => this.#tell(events),
    });
  }

  #tell(events: AdapterEvent[]): void {
    this.#queue.push(this.hold(events));
  }

  #begin(turn: Turn): void {
    const late = this.#between?.told() ?? [];
    this.#between = null;
    this.#isAsked = false;
    this.#steering = null;
    this.#limit = this.#beginLimit();
    this.#requests.nextTurn();
    this.#queue.push(late);
    turn.signal.addEventListener("abort", () => void this.#stop().catch(() => {}), { once: true });
  }

  /** Asks the agent to end its turn, and not its session. */
  async #stop(): Promise<void> {
    if (this.isBetweenTurns) return;
    this.#tell(this.#requests.close());
    if (this.#isAsked) await this.#agent.notify("session/cancel", { sessionId: this.#session });
  }

  async #takeTurn(turn: Turn, request: SessionRequest): Promise<void> {
    const goesOn = (): boolean => turn.kept && this.#isAsked && !this.#ctx.signal.aborted;
    try {
      const sumUp = await this.#work(turn, request);
      this.#end(sumUp(), goesOn());
      this.#sumUp = goesOn() ? null : sumUp;
    } catch (thrown) {
      await this.#steering?.end();
      if (thrown instanceof RpcError) {
        const summary = this.#reader.end();
        this.#end(turn.signal.aborted ? turnStop(summary) : turnFailure(thrown, summary), goesOn());
      } else if (errorDataOf(thrown)) this.#queue.end({ thrown });
      // Else it is closed: the agent has left, and how it left says the rest.
    } finally {
      this.#requests.close();
      if (!this.isBetweenTurns) await this.#transport.close().catch(() => {});
    }
  }

  /** Whether something was not permitted: a call may stay open then, and mean nothing. */
  get rejected(): boolean {
    return this.#requests.rejected;
  }

  /** The last word again, where the agent told more after it was given. */
  #lastWordAgain(): AdapterEvent[] {
    const word = this.#sumUp?.().at(-1);
    return word === undefined || JSON.stringify(word) === JSON.stringify(this.#lastWord) ? [] : [word];
  }

  /** Gives the turn's last events; `goesOn`: another turn may follow. */
  #end(events: AdapterEvent[], goesOn: boolean): void {
    if (goesOn) this.#tell(this.#requests.close());
    this.#lastWord = events.at(-1) ?? null;
    this.#queue.push(this.#limit.end(events));
    if (!goesOn) return;
    this.#between = new BetweenTurns();
    this.#reader.pause();
  }

  async #open(request: SessionRequest): Promise<OpenedSession> {
    const deps = this.#openingDeps();
    const opened = await openSession(request, deps);
    const { greeting, sessionId } = opened;
    this.#session = sessionId;
    const model = await choose(request, opened, { ...deps, contained: this.#contained });
    this.#tell([{
      type: "agent_info",
      agent_session_id: sessionId,
      ...(greeting.version === undefined ? {} : { agent_version: greeting.version }),
      ...(model === undefined ? {} : { model }),
    }]);
    const terms = new TurnTermChoices({ ...opened, agent: this.#agent, bestEffort: request.best_effort === true });
    return { greeting, sessionId, terms };
  }

  /** Prompts the agent, and waits until it has told all of its turn. */
  async #work(turn: Turn, request: SessionRequest): Promise<() => AdapterEvent[]> {
    const opening = this.#opening ??= this.#open(request);
    // A session that opens slowly is the next turn's.
    const opened = await Promise.race([opening, whenAborted(turn.signal)]);
    this.#isAsked = opened === null;
    if (opened === null) return () => turnStop(this.#reader.end());
    const { greeting, sessionId, terms } = opened;
    this.#tell(await terms.choose(turn));
    const isResumed = this.#wasAsked || request.continue_from !== undefined;
    this.#wasAsked = true;
    const habits = habitsOf(greeting.name);
    await this.#account.begin(habits.account, { isResumed });
    this.#queue.push(this.#reader.begin(sessionId, habits, { isResumed }));
    const { prompt, content = [] } = turn;
    const blocksOf: BlocksOf = (words) => promptBlocks(words, { ctx: this.#ctx, greeting });
    // Nothing may be waited for between the look at the stop and the prompt: an agent takes a stop of a prompt alone.
    const blocks = await blocksOf({ text: prompt, content });
    const isFree = !turn.signal.aborted;
    this.#isAsked = true;
    const isOffered = greeting.isSteered;
    const answer = isFree
      ? fieldsOrNone(await this.#steered(turn, { blocks, blocksOf, isOffered }))
      : { stopReason: "cancelled" };
    // Another end is told, and the session may be over with it.
    const account = answer["stopReason"] === "end_turn" ? await this.#account.end() : undefined;
    if (isFree) await this.#quiet.come(() => this.#stateOf(turn));
    await this.#steering?.end();
    const isStopped = turn.signal.aborted && answer["stopReason"] === "cancelled";
    return () => {
      const summary = this.#reader.end(account);
      return isStopped ? turnStop(summary) : turnEnd(answer, summary, { prompt, rejected: this.rejected });
    };
  }

  /** Prompts the agent, and gives it what the client says meanwhile. */
  #steered(
    turn: Turn,
    { blocks, ...offer }: { blocks: JsonFields[]; blocksOf: BlocksOf; isOffered: boolean },
  ): Promise<unknown> {
    const answer = this.#prompt(blocks);
    this.#steering = new Steering({
      ...offer,
      agent: this.#agent,
      sessionId: this.#session ?? "",
      tell: (events) => this.#tell(events),
      sleep: (ms) => this.#ctx.sleep(ms),
    });
    // It fails when the host has ended the session.
    void this.#steering.follow(turn).catch(() => {});
    return answer;
  }

  #stateOf({ kept, signal }: Turn): TurnState {
    const { hasOpenCall, isSpeechless } = this.#reader;
    // An agent that is told no, or to stop, may leave its call at that.
    return {
      isKept: kept,
      hasOpenCall: hasOpenCall && !this.rejected && !signal.aborted,
      isSpeechless: isSpeechless && !signal.aborted,
    };
  }

  #prompt(prompt: JsonFields[]): Promise<unknown> {
    return this.#agent.request("session/prompt", { sessionId: this.#session, prompt, ...this.#trace });
  }

  /** Asks what the agent answers itself, without a model; one that does not is not waited for. */
  async #askAside(text: string): Promise<void> {
    await Promise.race([this.#prompt([textBlock(text)]), this.#ctx.sleep(asideMs)]);
  }

  #openLater(callId: string): void {
    this.#ctx.sleep(inputMs).then(() => this.#tell(this.#reader.open(callId)), () => {});
  }

  #openingDeps(): OpeningDeps {
    return {
      agent: this.#agent,
      handshake: this.#handshake,
      options: this.#options,
      workdir: this.#ctx.workdir,
    };
  }

  /** Reads what the agent sends, as fast as the host takes what becomes of it. */
  async #pump(): Promise<void> {
    try {
      for await (const texts of this.#transport.messages) {
        this.#takeAll(texts);
        await this.#queue.drained();
      }
      this.#leave();
      await this.#turn;
      this.#queue.push(this.#lastWordAgain());
      this.#queue.end();
    } catch (thrown) {
      this.#leave();
      this.#queue.end({ thrown });
    }
  }

  /** The agent sends no more. */
  #leave(): void {
    this.#isGone = true;
    this.#agent.end();
    this.#quiet.end();
  }

  #takeAll(texts: readonly string[]): void {
    this.#quiet.heard();
    for (let at = 0; at < texts.length; at++) {
      const session = this.#reader.runsOf;
      const { run, rest } = session === null
        ? { run: null, rest: parseJsonLine(texts[at]!) }
        : readRun(texts, at, session);
      if (run !== null) this.#tell(this.#reader.readRun(run));
      at += run?.texts.length ?? 0;
      if (at < texts.length) this.#take(texts[at]!, rest);
    }
  }

  /** Takes output that is no message. */
  #printed(text: string, event: AdapterEvent): void {
    this.#handshake.hear(text);
    this.#tell([event]);
  }

  /** Takes one message; `data` is what its text holds, undefined where that is not JSON. */
  #take(text: string, data: unknown): void {
    if (text.trim() === "") return;
    const batch = objectsOf(data);
    if (batch.length > 0 && batch.every(({ jsonrpc }) => jsonrpc === "2.0")) {
      return batch.forEach((one) => this.#take(JSON.stringify(one), one));
    }
    const message = fieldsOf(data);
    if (message?.["jsonrpc"] !== "2.0") {
      // Text that is no message was printed by some program; a cut message is no text of the agent.
      const printed = data === undefined && !withoutControls(text).startsWith("{");
      this.#printed(
        `${text}\n`,
        printed
          ? { type: "output", stream: "stdout", data: `${text}\n` }
          : { type: "unparsed", data: data === undefined ? text : data },
      );
      return;
    }
    this.#handshake.forget();
    const events = message["method"] === "session/request_permission"
      ? this.#requests.begin(message, (request) => this.#reader.read(request))
      : this.#reader.read(message);
    this.#tell(events ?? [{ type: "unparsed", data }]);
    for (const id of this.#reader.waiting()) this.#openLater(id);
    if (message["method"] === "$/cancel_request") {
      const { requestId, id = requestId } = fieldsOrNone(message["params"]);
      this.#tell(this.#requests.withdraw(requestId ?? id));
    }
    // Notifications are all read here.
    if ("id" in message) this.#agent.receive(message);
  }
}

/** Whether an event may be more than words, of which nothing is noted here. */
function isNoted({ type }: AdapterEvent): boolean {
  return type !== "output" && type !== "thinking";
}

function isLastWord({ type }: AdapterEvent): boolean {
  return type === "completed" || type === "error";
}

/** Resolves when the signal aborts. */
function whenAborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}
