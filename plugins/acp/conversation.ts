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
  PermissionAnswers,
  type RateLimitEvent,
  rpcCodes,
  RpcError,
  type SessionRequest,
  textOf,
  tooLargeLine,
  ToolOutput,
  withoutControls,
} from "bulkhead/plugin-sdk";
import { offerFiles } from "./client-files.ts";
import { habitsOf } from "./habits.ts";
import { Handshake } from "./handshake.ts";
import { HeldLimit } from "./held-limit.ts";
import { choose, type Greeting, type OpeningDeps, openSession, tryOpening } from "./open-session.ts";
import type { AgentOptions } from "./options.ts";
import { offerTerminals } from "./terminals.ts";
import { readRun } from "./text-run.ts";
import { TokenAccount } from "./token-account.ts";
import type { FindOutcome } from "./tool-calls.ts";
import { turnEnd, turnFailure } from "./turn-end.ts";
import { permissionId, UpdateReader } from "./update-reader.ts";

/** How long a call that runs waits for its input before the host gets it without. */
const inputMs = 300;

/** Longest silence after the answer to a prompt, when all seems told; when a call is open; and when nothing was said. */
const quietMs = 100;
const openCallMs = 10_000;
const speechlessMs = 2000;

/** How long the agent has for what it answers without its model. */
const asideMs = 5000;

/** Channel for messages to and from the agent. */
export interface Transport {
  /** The agent's messages, as JSON texts, several at a time. */
  messages: AsyncIterable<readonly string[]>;
  /** Resolves when the agent's side took it. */
  send(text: string): Promise<void>;
  /** The turn is over: nothing more will be sent. */
  close(): Promise<void>;
  /** Names the reader of output that is no whole message, where there can be such output. */
  onOdd?(reader: OddOutput): void;
}

/** Reads output that is no whole message. */
export interface OddOutput {
  /** Takes the beginning of a message that is too long. */
  tooLong(beginning: string): void;
  /** Takes an unfinished line after a moment of silence; false if it may become a message. */
  unfinished(text: string): boolean;
}

/** One session with an agent, from the greeting to the end of its turn. */
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
  readonly #answers: PermissionAnswers;
  readonly #agent: JsonRpcPeer;
  #findOutcome: FindOutcome = () => undefined;
  #session: string | null = null;
  readonly #tools = new ToolOutput();
  readonly #limit: HeldLimit;
  readonly #handshake = new Handshake();
  #lastWord: AdapterEvent | null = null;
  #turn: Promise<void> = Promise.resolve();
  #heardAt = 0;
  #fallSilent: () => void = () => {};
  /** Resolves when the agent sends no more. */
  readonly #silence = new Promise<void>((resolve) => this.#fallSilent = resolve);
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
    this.#answers = new PermissionAnswers(ctx);
    this.#limit = new HeldLimit({
      ctx,
      isPrinted: (text) => this.#tools.hasPrinted(text),
      tell: (events) => this.#queue.push(events),
    });
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

  /**
   * The session's events; the last word is among them, unless the agent left before it gave one.
   * @throws {BulkheadError} `unsupported`, `invalid_model`, `invalid_request` for what the agent does not offer;
   * `unenforceable` where it does not ask
   */
  async *run(request: SessionRequest): AsyncGenerator<AdapterEvent[], void, void> {
    this.#turn = this.#converse(request);
    void this.#pump();
    for await (const events of this.#queue.batches()) {
      yield events;
      for (const event of events.filter(isNoted)) {
        this.#tools.take(event);
        if (event.type === "permission_request") this.#answers.ask(event.request_id);
      }
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
    this.#answers.close();
    if (this.#session !== null) await this.#agent.notify("session/cancel", { sessionId: this.#session });
    await this.#turn;
  }

  /** Whether a line of the agent's error output may be what one of its tools printed, which says nothing of the agent. */
  isToolOutput(line: string): boolean {
    return this.#reader.toolsRun || this.#tools.hasPrinted(line);
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
    agent.onRequest("session/request_permission", async ({ id, params }) => {
      const outcome = await this.#answers.wait(permissionId(id));
      if (outcome === "withdrawn") throw new RpcError(rpcCodes.cancelled, "Request cancelled");
      // Without a way to say no, this is a denial; else it means that the whole turn is cancelled.
      const optionId = outcome === "closed" ? undefined : outcome?.id ?? refusalIn(params);
      return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    });
    if (this.#options.files) {
      offerFiles(agent, { fs: this.#ctx.fs, missingFileIsEmpty: this.#options.missingFileIsEmpty });
    }
    if (this.#options.terminals) this.#findOutcome = offerTerminals(agent, this.#ctx);
    return agent;
  }

  async #converse(request: SessionRequest): Promise<void> {
    try {
      const sumUp = await this.#takeTurn(request);
      await this.#quiet();
      this.#end(sumUp());
      this.#sumUp = sumUp;
    } catch (thrown) {
      if (thrown instanceof RpcError) this.#end(turnFailure(thrown, this.#reader.end()));
      else if (errorDataOf(thrown)) this.#queue.end({ thrown });
      // Else it is closed: the agent has left, and how it left says the rest.
    } finally {
      this.#answers.close();
      await this.#transport.close().catch(() => {});
    }
  }

  /** Whether something was not permitted: a call may stay open then, and mean nothing. */
  get rejected(): boolean {
    return this.#answers.rejected;
  }

  /** Waits until the agent has told all of its turn: agents send the end of an answer after the answer to its prompt. */
  async #quiet(): Promise<void> {
    this.#heardAt = Date.now();
    for (;;) {
      const rest = this.#heardAt + this.#patience() - Date.now();
      if (rest <= 0 || this.#ctx.signal.aborted) return;
      // In short steps: what comes may make the wait shorter.
      const slept = this.#ctx.sleep(Math.min(rest, quietMs)).then(() => false, () => true);
      if (await Promise.race([this.#silence.then(() => true), slept])) return;
    }
  }

  #patience(): number {
    const { hasOpenCall, isSpeechless } = this.#reader;
    if (hasOpenCall && !this.rejected) return openCallMs;
    return isSpeechless ? speechlessMs : quietMs;
  }

  /** The last word again, where the agent told more after it was given. */
  #lastWordAgain(): AdapterEvent[] {
    const word = this.#sumUp?.().at(-1);
    return word === undefined || JSON.stringify(word) === JSON.stringify(this.#lastWord) ? [] : [word];
  }

  /** Gives the turn's last events. */
  #end(events: AdapterEvent[]): void {
    this.#lastWord = events.at(-1) ?? null;
    this.#queue.push(this.#limit.end(events));
  }

  async #takeTurn(request: SessionRequest): Promise<() => AdapterEvent[]> {
    const deps = this.#openingDeps();
    const opened = await openSession(request, deps);
    const { greeting, sessionId } = opened;
    this.#session = sessionId;
    const model = await choose(request, opened, { ...deps, contained: this.#contained });
    this.#queue.push([{
      type: "agent_info",
      agent_session_id: sessionId,
      ...(greeting.version === undefined ? {} : { agent_version: greeting.version }),
      ...(model === undefined ? {} : { model }),
    }]);
    const habits = habitsOf(greeting.name);
    await this.#account.begin(habits.account, { isResumed: request.continue_from !== undefined });
    this.#queue.push(this.#reader.begin(sessionId, habits, { isResumed: request.continue_from !== undefined }));
    const { prompt } = request;
    const answer = fieldsOrNone(await this.#prompt(prompt));
    // Another end is told, and the session may be over with it.
    const account = answer["stopReason"] === "end_turn" ? await this.#account.end() : undefined;
    return () => turnEnd(answer, this.#reader.end(account), { prompt, rejected: this.rejected });
  }

  #prompt(text: string): Promise<unknown> {
    return this.#agent.request("session/prompt", { sessionId: this.#session, prompt: [{ type: "text", text }] });
  }

  /** Asks what the agent answers itself, without a model; one that does not is not waited for. */
  async #askAside(text: string): Promise<void> {
    await Promise.race([this.#prompt(text), this.#ctx.sleep(asideMs)]);
  }

  #openLater(callId: string): void {
    this.#ctx.sleep(inputMs).then(() => this.#queue.push(this.#reader.open(callId)), () => {});
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
      this.#agent.end();
      this.#fallSilent();
      await this.#turn;
      this.#queue.push(this.#lastWordAgain());
      this.#queue.end();
    } catch (thrown) {
      this.#agent.end();
      this.#fallSilent();
      this.#queue.end({ thrown });
    }
  }

  #takeAll(texts: readonly string[]): void {
    this.#heardAt = Date.now();
    for (let at = 0; at < texts.length; at++) {
      const session = this.#reader.runsOf;
      const { run, rest } = session === null
        ? { run: null, rest: parseJsonLine(texts[at]!) }
        : readRun(texts, at, session);
      if (run !== null) this.#queue.push(this.#reader.readRun(run));
      at += run?.texts.length ?? 0;
      if (at < texts.length) this.#take(texts[at]!, rest);
    }
  }

  /** The events of a request for permission. One that cannot be put to a person is denied, which is told. */
  #permission(message: JsonFields): AdapterEvent[] {
    const id = permissionId(message["id"]);
    // Nothing could tell to which of two requests with one id an answer belongs: both get a no.
    const isTwice = this.#withdraw(id);
    const events = isTwice ? null : this.#reader.read(message);
    if (events !== null) {
      this.#answers.begin(id);
      return events;
    }
    const why = isTwice ? "another one with its id was open" : "it cannot be understood";
    return [
      { type: "unparsed", data: message },
      { type: "progress", message: `A request of the agent for permission was denied: ${why}.` },
    ];
  }

  /** Closes an open request for permission that the agent no longer waits for; false where none is open. */
  #withdraw(requestId: string): boolean {
    const isOpen = this.#answers.withdraw(requestId);
    if (isOpen) this.#queue.push([{ type: "request_withdrawn", request_id: requestId }]);
    return isOpen;
  }

  /** Takes output that is no message. */
  #printed(text: string, event: AdapterEvent): void {
    this.#handshake.hear(text);
    this.#queue.push([event]);
  }

  /** Takes one message; `data` is what its text holds, undefined where that is not JSON. */
  #take(text: string, data: unknown): void {
    if (text.trim() === "") return;
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
      ? this.#permission(message)
      : this.#reader.read(message);
    this.#queue.push(events ?? [{ type: "unparsed", data }]);
    for (const id of this.#reader.waiting()) this.#openLater(id);
    if (message["method"] === "$/cancel_request") {
      const { requestId, id = requestId } = fieldsOrNone(message["params"]);
      this.#withdraw(permissionId(requestId ?? id));
    }
    // Notifications are all read here.
    if ("id" in message) this.#agent.receive(message);
  }
}

/** The option of a request for permission that says no; undefined where it offers none. */
function refusalIn({ options }: JsonFields): string | undefined {
  const offered = objectsOf(options);
  const [once] = ["reject_once", "reject_always"].flatMap((kind) =>
    offered.filter((option) => option["kind"] === kind)
  );
  return textOf(once?.["optionId"]);
}

/** Whether an event may be more than words, of which nothing is noted here. */
function isNoted({ type }: AdapterEvent): boolean {
  return type !== "output" && type !== "thinking";
}
