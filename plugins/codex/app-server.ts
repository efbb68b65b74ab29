import {
  type AdapterContext,
  type AdapterEvent,
  type AdapterEvents,
  BatchQueue,
  type CliEnding,
  errorDataOf,
  feedStdin,
  fieldsOrNone,
  type JsonFields,
  jsonLineEvents,
  JsonRpcPeer,
  leaveStream,
  mergeStreams,
  PermissionAnswers,
  type ProcessExit,
  readLines,
  RpcError,
  type RunningProcess,
  splitLines,
  stringOf,
  textOf,
  tooLargeLine,
  type Turn,
} from "bulkhead/plugin-sdk";
import type { Opening } from "./command.ts";
import { failureOf } from "./failures.ts";
import { Questions } from "./questions.ts";
import { approvals, questionMethod, questionsOf, requestIdOf } from "./requests.ts";
import { ServerLog } from "./server-log.ts";
import { ThreadReader } from "./thread-reader.ts";
import { TurnSettings } from "./turn-settings.ts";

/** How long Codex may take to end a turn that it is asked to stop; the host gives a second in all. */
const politeMs = 700;
/** How long it may take to leave when it is told that nothing else comes. */
const leaveMs = 2000;

/** How long Codex may take to say whether it has words that came at the end of a turn. Milliseconds. */
const answerMs = 2000;

/** Collaborators of {@link AppServer}. */
interface AppServerDeps {
  ctx: AdapterContext;
  opening: Opening;
  /** Version of the adapter, which Codex is told. */
  version: string;
  /** Makes what watches the events of one turn for its last word. */
  ending(): CliEnding;
}

/** One running `codex app-server`, and the one thread that is worked on in it. */
export class AppServer {
  readonly #child: RunningProcess;
  readonly #deps: AppServerDeps;
  readonly #queue = new BatchQueue<AdapterEvent>();
  readonly #reader = new ThreadReader();
  readonly #peer: JsonRpcPeer;
  readonly #terms = new TurnSettings((method, params) => this.#peer.request(method, params));
  #thread: string | null = null;
  /** Of the turn under way, or the last one. */
  #answers: PermissionAnswers;
  #questions: Questions;
  /** Resolves when the turn under way has begun, or could not. */
  #begun: Promise<void> = Promise.resolve();
  /** Words on their way to Codex. */
  #giving: Promise<void> = Promise.resolve();
  /** Resolves when the turn under way is over. */
  #over: Promise<void> = Promise.resolve();
  #isGone = false;
  #stopping: Promise<void> | null = null;

  constructor(child: RunningProcess, deps: AppServerDeps) {
    this.#child = child;
    this.#deps = deps;
    this.#answers = new PermissionAnswers(deps.ctx);
    this.#questions = new Questions(deps.ctx);
    this.#peer = new JsonRpcPeer((message) =>
      feedStdin(child, `${JSON.stringify(message)}\n`, { keep_stdin_open: true })
    );
    for (const [method, { answer }] of Object.entries(approvals)) {
      this.#peer.onRequest(method, async ({ id }) => answer(await this.#answers.wait(requestIdOf(id))));
    }
    this.#peer.onRequest(questionMethod, async ({ id, params }) => {
      const asked = questionsOf(requestIdOf(id), params);
      const answers = await Promise.all(asked.map(async ({ name, event }) => {
        const answer = await this.#questions.wait(event.request_id);
        return [name, { answers: answer === null ? [] : [answer] }] as const;
      }));
      return { answers: Object.fromEntries(answers) };
    });
  }

  /**
   * Does one turn after the other.
   * @throws {BulkheadError} what the host says of a call
   */
  async *run(turns: AsyncIterable<Turn>): AdapterEvents {
    void this.#pump();
    const events = mergeStreams(this.#queue.batches(), this.#errorOutput());
    try {
      for await (const turn of turns) {
        yield* this.#take(turn, events);
        if (!turn.kept || this.#isGone) return;
      }
    } finally {
      void events.return().catch(() => {});
    }
  }

  /** Asks Codex to end its turn, which lets it end its tools, and kills it when that takes too long. */
  stop(): Promise<void> {
    return this.#stopping ??= this.#stop();
  }

  async #stop(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, politeMs));
    await Promise.race([this.#interrupt().then(() => this.#over).catch(() => {}), late]);
    clearTimeout(timer);
    await this.kill();
  }

  /** Ends the program with all it started. */
  async kill(): Promise<void> {
    await this.#child.kill().catch(() => {});
  }

  async *#take(turn: Turn, events: AsyncIterator<AdapterEvent[]>): AdapterEvents {
    const { ctx, ending: makeEnding } = this.#deps;
    const ending = makeEnding();
    const [answers, questions] = [new PermissionAnswers(ctx), new Questions(ctx)];
    [this.#answers, this.#questions] = [answers, questions];
    let finish = (): void => {};
    this.#over = new Promise((resolve) => finish = resolve);
    this.#reader.tellsEnd = turn.kept;
    this.#begun = this.#begin(turn);
    const unread = new Set<string>();
    // What comes back is told with the last word: its turn is over.
    const late: AdapterEvent[] = [];
    void this.#steer(turn, unread, (event) => late.push(event)).catch(() => {});
    const stop = (): void => void this.#interrupt().catch(() => {});
    turn.signal.addEventListener("abort", stop);
    if (turn.signal.aborted) stop();
    const isLater = this.#thread !== null;
    let [isLeft, isSilent] = [false, true];
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        const passed = ending.take(next.value);
        if (ending.isOver) finish();
        if (passed.length > 0) yield passed;
        isSilent &&= passed.length === 0;
        for (const event of next.value) {
          if (event.type === "permission_request") answers.ask(event.request_id);
          if (event.type === "question") questions.ask(event.request_id);
          if (event.type === "message") unread.delete(event.message_id);
        }
        if (!ending.isOver || isLeft) continue;
        if (turn.kept) break;
        isLeft = true;
        this.#leave();
      }
      // A program that was kept is gone: the host enters again with a turn of which nothing came.
      if (isLater && isSilent && !ending.isOver && !ctx.signal.aborted) return;
      const last = await this.#lastWord(ending, turn);
      if (turn.kept) await Promise.race([this.#giving, ctx.sleep(answerMs)]).catch(() => {});
      // Codex forgets what it has not read of a turn that was stopped; of any other it may have kept it.
      const isStopped = last.some((event) => event.type === "error" && event.code === "interrupted");
      yield [...late.splice(0), ...isStopped ? [...unread].map(returned) : [], ...last];
      if (!turn.kept) return;
      // A word that is on its way here is given back before the next turn.
      const pause = () => ctx.sleep(0).catch(() => {});
      for (await pause(); late.length > 0; await pause()) yield late.splice(0);
    } finally {
      finish();
      answers.close();
      questions.close();
      turn.signal.removeEventListener("abort", stop);
    }
  }

  async #lastWord(ending: CliEnding, { kept }: Turn): Promise<AdapterEvent[]> {
    const { signal } = this.#deps.ctx;
    const stays = kept && ending.isOver && !this.#isGone;
    const exit = stays ? { exit_code: 0, signal: null } : await this.#exit();
    if (signal.aborted) return ending.interrupted(signal.reason);
    const meaning = exit.exit_code === 0 ? "completed" : "fatal";
    return ending.failure(exit, { meaning, strict: true }) ?? [ending.completed(undefined)];
  }

  async #exit(): Promise<ProcessExit> {
    const { stdout, stderr, exit } = this.#child;
    await Promise.all([leaveStream(stdout), leaveStream(stderr)]);
    return await exit;
  }

  /** Tells Codex that nothing else comes. */
  #leave(): void {
    const { ctx } = this.#deps;
    void this.#child.stdin.close().catch(() => {});
    ctx.sleep(leaveMs).then(() => this.#isGone ? undefined : this.kill()).catch(() => {});
  }

  async #begin({ prompt, content, output_schema, ...terms }: Turn): Promise<void> {
    try {
      const thread = this.#thread ??= await this.#open();
      const settings = await this.#terms.settings(terms, this.#reader.model);
      await this.#peer.request("turn/start", {
        threadId: thread,
        input: await this.#inputOf(prompt, content),
        ...(output_schema === undefined ? {} : { outputSchema: output_schema }),
        ...settings,
      });
    } catch (thrown) {
      if (thrown instanceof RpcError) this.#queue.push([failureOf(thrown.message)]);
      else if (errorDataOf(thrown)) this.#queue.end({ thrown });
      // Else it is gone, and how it ended says the rest.
    }
  }

  /**
   * Gives the client's words into a turn to Codex.
   * @param unread Ids of those that Codex has, and has not said that it read
   */
  async #steer({ messages }: Turn, unread: Set<string>, put: (event: AdapterEvent) => unknown): Promise<void> {
    await this.#begun;
    for await (const { message_id, text, content } of messages) {
      const { turn } = this.#reader;
      if (turn === null) {
        put(returned(message_id));
        continue;
      }
      unread.add(message_id);
      this.#giving = this.#give(message_id, { turn, input: this.#inputOf(text, content) }).then((isTaken) => {
        if (isTaken) return;
        unread.delete(message_id);
        put(returned(message_id));
      });
      await this.#giving;
    }
  }

  /** Gives Codex words; false where it has no such turn any more. */
  async #give(id: string, { turn, input }: { turn: string; input: Promise<JsonFields[]> }): Promise<boolean> {
    const ids = { threadId: this.#thread, expectedTurnId: turn, clientUserMessageId: id };
    try {
      await this.#peer.request("turn/steer", { ...ids, input: await input });
      return true;
    } catch (thrown) {
      // A program that is gone does not say whether it had them.
      return !(thrown instanceof RpcError);
    }
  }

  /** Codex reads images from files. */
  async #inputOf(text: string, content: Turn["content"] = []): Promise<JsonFields[]> {
    const images: JsonFields[] = [];
    for (const { sha256 } of content) {
      images.push({ type: "localImage", path: await this.#deps.ctx.attachments.path(sha256) });
    }
    return [...images, ...(text === "" ? [] : [textInput(text)])];
  }

  /** Opens the thread, and returns its id. */
  async #open(): Promise<string> {
    const { opening: { thread, fork, asks, ...opening }, version, ctx } = this.#deps;
    const greeting = fieldsOrNone(
      await this.#peer.request("initialize", {
        clientInfo: { name: "bulkhead", title: "Bulkhead", version },
        // Its mode that only plans is not of the stable part of its protocol.
        capabilities: { experimentalApi: true },
      }),
    );
    await this.#peer.notify("initialized", {});
    const settings = { ...opening, approvalPolicy: asks ? "untrusted" : "never" };
    // Without the folder, which is the program's own: Codex notes one that it is told as trusted, for good, and then obeys the
    // settings of a stranger's project.
    const opened = fieldsOrNone(
      thread === undefined
        ? await this.#peer.request("thread/start", settings)
        : await this.#peer.request(fork === undefined ? "thread/resume" : "thread/fork", {
          threadId: thread,
          ...(fork?.at === undefined ? {} : { lastTurnId: fork.at }),
          cwd: ctx.workdir,
          excludeTurns: true,
          ...settings,
        }),
    );
    const id = stringOf(fieldsOrNone(opened["thread"])["id"]);
    if (id === null) throw new RpcError(0, "Codex opened no thread.");
    const model = textOf(opened["model"])?.slice(0, 1024) ?? opening.model;
    const agentVersion = /\/(\d+\.\d+\.\d+[\w.+-]*)/.exec(stringOf(greeting["userAgent"]) ?? "")?.[1];
    this.#reader.begin(id, model);
    this.#queue.push([{
      type: "agent_info",
      agent_session_id: id,
      ...(agentVersion === undefined ? {} : { agent_version: agentVersion }),
      ...(model === undefined ? {} : { model }),
    }]);
    return id;
  }

  /** Stops the turn under way. */
  async #interrupt(): Promise<void> {
    this.#answers.close();
    this.#questions.close();
    await this.#begun;
    const { turn } = this.#reader;
    if (turn !== null) await this.#peer.request("turn/interrupt", { threadId: this.#thread, turnId: turn });
  }

  /** Reads what Codex says, as fast as the host takes what becomes of it. */
  async #pump(): Promise<void> {
    const tooLong = (beginning: string): void => this.#queue.push([tooLargeLine(beginning)]);
    let failure: { thrown: unknown } | null = null;
    try {
      for await (const lines of splitLines(this.#child.stdout, { messages: true, onTooLong: tooLong })) {
        for (const line of lines) this.#queue.push(jsonLineEvents(line, (message) => this.#message(message)));
        await this.#queue.drained();
      }
    } catch (thrown) {
      failure = { thrown };
    }
    this.#isGone = true;
    this.#peer.end();
    this.#queue.end(failure);
  }

  /** The events of a message; null for one that it does not know. */
  #message(message: JsonFields): AdapterEvent[] | null {
    const method = stringOf(message["method"]);
    if (!("id" in message)) return method === null ? null : this.#notice(method, fieldsOrNone(message["params"]));
    const events = method === null ? [] : this.#request(method, message);
    // Noted before what follows is read, which may be all of the turn.
    const began = textOf(fieldsOrNone(fieldsOrNone(message["result"])["turn"])["id"]);
    if (began !== undefined) this.#reader.beginTurn(began);
    this.#peer.receive(message);
    return events;
  }

  #notice(method: string, params: JsonFields): AdapterEvent[] | null {
    if (method === "turn/started" && !this.#reader.isHelpers(params)) this.#started(params);
    if (method !== "serverRequest/resolved") return this.#reader.read(method, params);
    const id = requestIdOf(params["requestId"]);
    return this.#answers.withdraw(id) ? [{ type: "request_withdrawn", request_id: id }] : [];
  }

  /** A turn that Codex begins by itself, with none under way, is stopped: the host has not asked for it. */
  #started({ turn }: JsonFields): void {
    const id = stringOf(fieldsOrNone(turn)["id"]);
    void this.#begun.then(async () => {
      if (this.#reader.turn !== null || this.#reader.knows(id)) return;
      await this.#peer.request("turn/interrupt", { threadId: this.#thread, turnId: id });
    }).catch(() => {});
  }

  /** The events of a request. One that cannot be put to a person is answered with a no, which is told. */
  #request(method: string, { id, params }: JsonFields): AdapterEvent[] {
    const fields = fieldsOrNone(params);
    if (method === questionMethod) {
      const events = questionsOf(requestIdOf(id), fields).map(({ event }) => event);
      for (const event of events) this.#questions.begin(event.request_id);
      return events;
    }
    const approval = Object.hasOwn(approvals, method) ? approvals[method]! : null;
    const { openCalls } = this.#reader;
    const asked = approval?.event(fields, { openCalls, isReadOnly: this.#deps.opening.sandbox === "read-only" });
    if (!asked) return [{ type: "progress", message: `A request of Codex was denied: ${method}.` }];
    const request_id = requestIdOf(id);
    this.#answers.begin(request_id);
    const event = { type: "permission_request" as const, request_id, ...asked };
    if (!this.#reader.isHelpers(fields)) return [event];
    const title = `[sub-agent ${this.#reader.helperOf(fields)}] ${asked.title}`.slice(0, 1024);
    return [{ ...event, title, agent_id: String(fields["threadId"]) }];
  }

  #errorOutput(): AsyncGenerator<AdapterEvent[], void, void> {
    const log = new ServerLog();
    return readLines(this.#child.stderr, {
      isText: true,
      read: ({ text, end, line }) => log.takes(line) ? [] : [{ type: "output", stream: "stderr", data: text + end }],
    });
  }
}

function returned(message_id: string): AdapterEvent {
  return { type: "message", message_id, state: "returned" };
}

function textInput(text: string): JsonFields {
  return { type: "text", text, text_elements: [] };
}
