import { allContained, containsPrograms } from "../../packages/permissions/contained-programs.ts";
import { orderAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent, PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { TextTail } from "../../../plugin-sdk/text-tail.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { OperationName } from "../../walls/channel/operations.ts";
import type { SessionBroker } from "../../walls/broker/session-broker.ts";
import type { EntryOptions, EventBatch, LaneEntry } from "../../walls/pool/lane-entry.ts";
import type { WorkerPlace } from "../../walls/pool/plugin-pool.ts";
import { TokenBucket } from "../../ground/checks/token-bucket.ts";
import { forAuthor } from "../../packages/registry/for-author.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { PluginScript } from "../../packages/manifest/plugin.ts";
import { longestLimitMs } from "../routing/access-mode-counters.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { unlessAborted } from "../../ground/platform/engine/within.ts";
import { attemptBroker } from "./attempt-broker.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { policyAnswer, refusalOf } from "./approval-policy.ts";
import { canTalk } from "./enforceable.ts";
import { checkEvent, waitIn } from "./check-event.ts";
import type { LogEntry } from "./merged-log.ts";
import { type Asked, unanswered } from "./open-requests.ts";
import { ToldChanges } from "./told-changes.ts";
import { answerTurnCall, isTurnOperation, type TurnSource } from "./turn-calls.ts";
import { UnaskedWork } from "./unasked-work.ts";
import type { HostEvent } from "../../../plugin-sdk/envelope.ts";

/** One try at a session on one adapter, from waiting for a worker to the end of its entry. */
export class Attempt {
  readonly number: number;
  readonly candidate: Candidate;
  /** The request as the adapter gets it in this entry. */
  readonly request: SessionRequest;
  readonly startedAt: string = new Date().toISOString();
  readonly #started = performance.now();
  readonly #deps: AttemptDeps;
  readonly #rate: TokenBucket;
  #entry: LaneEntry | null = null;
  #broker: SessionBroker | null = null;
  #script: PluginScript | null = null;
  #toolVersion: string | null = null;
  #waitMs: number | null = null;
  /** Words of the agent about a limit. */
  #limit: string | null = null;
  readonly #words = new TextTail(200);
  readonly #unasked: UnaskedWork;
  readonly #changes: ToldChanges;
  /** Whether the preparations that must precede any work of an agent are done. */
  #isPrepared = false;
  /** Whether the adapter has asked for its first turn. */
  #hasFirst = false;
  #isOver = false;
  /** Why the host cut the attempt off; the first reason is kept. */
  #cut: ErrorData | null = null;
  /** Durable events whose credit has not been given back yet. */
  #owed = { events: 0, credit: 0 };

  constructor(
    deps: AttemptDeps,
    { number, candidate, request }: { number: number; candidate: Candidate; request: SessionRequest },
  ) {
    this.#deps = deps;
    this.number = number;
    this.candidate = candidate;
    this.request = request;
    this.#changes = new ToldChanges(deps.session.place.workdir);
    this.#unasked = new UnaskedWork(candidate.request);
    this.#rate = new TokenBucket(candidate.plugin.limits.events_per_second, performance.now());
  }

  /** Returns the one script that was evaluated; null if the attempt never got that far. */
  get script(): PluginScript | null {
    return this.#script;
  }

  /** Returns the agent's own version, if it reported one. */
  get toolVersion(): string | null {
    return this.#toolVersion;
  }

  /** Returns what the agent said of a limit that it met. */
  get limit(): string | null {
    return this.#limit;
  }

  /** Returns the wait that the agent last asked for, in milliseconds; null if it asked for none. */
  get waitMs(): number | null {
    return this.#waitMs === null ? null : Math.min(this.#waitMs, longestLimitMs);
  }

  /** Returns why the host cut the attempt off; null if it did not. */
  get cutBy(): ErrorData | null {
    return this.#cut;
  }

  /** Returns how often permissions were used and denied. */
  get uses(): PermissionUses | null {
    return this.#broker?.uses ?? null;
  }

  /** Returns the milliseconds since it began. */
  get durationMs(): number {
    return Math.round(performance.now() - this.#started);
  }

  /**
   * Runs it to its end.
   * @param before settles when the preparations that must precede any work of an agent are done; until then the adapter
   * is started, and what it asks for is prepared and not done
   * @returns the error it failed with; null when the adapter ended by itself
   */
  async run(before: Promise<void>): Promise<ErrorData | null> {
    let place: WorkerPlace;
    try {
      place = await this.#place();
    } catch (thrown) {
      return this.#cut ?? forAuthor(toErrorData(thrown), this.#script);
    }
    try {
      const end = await this.#enter(place, before);
      this.#deps.usage.ran(end.model);
      if (!("error" in end)) return this.#cut;
      if (end.lost) this.#deps.stream.host(workerEvent(end.error));
      return this.#cut ?? forAuthor(end.error, this.#script);
    } catch (thrown) {
      return this.#cut ?? toErrorData(thrown);
    } finally {
      this.#isOver = true;
      this.#deps.turns.endEntry();
      place.release();
      // A session that ended sooner also gets a list of its changes.
      await before.catch(() => {});
    }
  }

  /** Returns true when its programs' guards do not cover all that a new program's would. */
  async guardsChanged(): Promise<boolean> {
    return await this.#broker?.guardsChanged() ?? false;
  }

  /** Asks the adapter to end, and abandons it when it does not. */
  cut(error: ErrorData): void {
    if (this.#cut) return;
    this.#cut = error;
    this.#entry?.cancel(error);
  }

  async #place(): Promise<WorkerPlace> {
    const { signal, stream } = this.#deps;
    const placing = this.candidate.acquire({
      signal,
      onQueued: (position, waitMs) => {
        const retry = waitMs > 0 ? { retry_in_ms: Math.ceil(waitMs) } : {};
        stream.host({ type: "queued", position, ...retry });
      },
    });
    // If the attempt has failed elsewhere, a worker granted later must be released.
    placing.catch(() => {});
    try {
      // Building the script reads the plugin's folder, which may hang, so an abort must end the wait.
      this.#script = await unlessAborted(this.candidate.script(), signal);
    } catch (error) {
      placing.then((place) => place.release(), () => {});
      throw error;
    }
    return await placing;
  }

  async #enter({ lane }: WorkerPlace, before: Promise<void>): Promise<Awaited<LaneEntry["ended"]>> {
    const { stream, deadlines, requests, rules, signal } = this.#deps;
    signal.throwIfAborted();
    this.candidate.started();
    this.#tellStart();
    stream.chargeTo((ms) => lane.charge(ms));
    const prepared = before.then(() => {
      this.#isPrepared = true;
      deadlines.heard();
    });
    prepared.catch(() => {});
    const { plugin, effective } = this.candidate;
    if (containsPrograms(plugin) && effective.run !== undefined) this.#brokerOf(prepared).prepare();
    this.#watch();
    try {
      this.#entry = lane.open({
        ...this.#asked(),
        onEvents: (events, batch) => {
          const kept = this.#withinLimits(events, batch.bytes);
          this.#takeTurns(kept, kept === events ? batch : { bytes: batch.bytes, credit: kept.length });
        },
        onCall: (operation, args) => this.#answerCall(prepared, { operation, args }),
      });
      return await this.#entry.ended;
    } finally {
      deadlines.rest();
      requests.closeAll();
      rules.reword((text) => this.#broker?.addresses.inText(text) ?? text);
      await this.#broker?.close();
    }
  }

  #watch(): void {
    this.#deps.deadlines.begin({
      // A request may only shorten the operator's deadline.
      idleMs: idleMs(this.candidate),
      onIdle: (ms) => this.cut({ code: "idle_timeout", message: silence(ms, this.#words.text.trim()) }),
    });
  }

  #tellStart(): void {
    const { session, stream } = this.#deps;
    const { plugin, accessMode, effective } = this.candidate;
    stream.host({
      type: "attempt_started",
      attempt: this.number,
      adapter_id: plugin.id,
      ...omitUndefined({
        access_mode: accessMode?.type,
        // The first event already has the permissions of the adapter that the session started with.
        permissions: plugin.id === session.candidates[0].plugin.id ? undefined : effective,
      }),
    });
  }

  /** Returns the call that enters the adapter. */
  #asked(): Pick<EntryOptions, "call" | "request" | "config" | "facts"> {
    const { sessionId, place: { workdir } } = this.#deps.session;
    const { plugin, accessMode } = this.candidate;
    return {
      call: "run_session",
      request: this.request,
      config: {
        working_directory: workdir,
        access_modes: inOrder(orderAccessModes(plugin.manifest.access_modes ?? []), accessMode),
        programs_contained: allContained(plugin),
        ...omitUndefined({ project_memory: this.candidate.projectMemory ?? undefined }),
        custom: plugin.config,
      },
      facts: { session_id: sessionId, attempt: this.number, workdir, plugin_dir: plugin.folder, platform },
    };
  }

  /** Gives the entry the turn under way, and then each next one. */
  readonly #turnSource: TurnSource = {
    next: async ({ seen }) => {
      const { turns, deadlines, rules, nextTurn } = this.#deps;
      const { manifest } = this.candidate.plugin;
      const kept = (this.#deps.session.request.keep_ms ?? 0) > 0 && canTalk(manifest, "turns");
      if (!this.#hasFirst) {
        this.#hasFirst = true;
        const { prompt, output_schema } = this.request;
        return { number: turns.current?.number ?? 1, prompt, ...omitUndefined({ output_schema }), kept };
      }
      if (!canTalk(manifest, "turns")) return null;
      rules.reword((text) => this.#broker?.addresses.inText(text) ?? text);
      const turn = await nextTurn(seen, () => this.#isOver);
      // What a last word left to say still has to come in time.
      this.#watch();
      if (turn === null) return null;
      deadlines.heard();
      this.#entry?.beginTurn();
      const { outputSchema: output_schema } = turn;
      const { prompt } = this.candidate.furtherRequest({ ...turn, agentSession: null, earlier: [] });
      return { number: turn.number, prompt, ...omitUndefined({ output_schema }), kept };
    },
    wait: (args) =>
      this.#deps.turns.wait(args, {
        canSteer: canTalk(this.candidate.plugin.manifest, "steer"),
        isOver: () => this.#isOver,
      }),
  };

  async #answerCall(prepared: Promise<void>, { operation, args }: { operation: string; args: unknown }) {
    this.#deps.deadlines.heard();
    if (isTurnOperation(operation)) return await answerTurnCall(this.#turnSource, operation, args);
    if (!worksBetweenTurns.has(operation)) await this.#deps.turns.working(() => this.#isOver);
    if (!this.#isPrepared && !waitsItself.has(operation)) await prepared;
    return await this.#brokerOf(prepared).call(operation, args);
  }

  /** Made on demand: many sessions never call the broker, and then there is nothing to clean up. */
  #brokerOf(workMayBegin: Promise<void>): SessionBroker {
    return this.#broker ??= attemptBroker(this.#deps, {
      number: this.number,
      candidate: this.candidate,
      workMayBegin,
    });
  }

  /** Handles a batch, in which the agent may have begun a turn by itself: what follows belongs to that. */
  #takeTurns(yielded: unknown[], batch: EventBatch): void {
    const at = canTalk(this.candidate.plugin.manifest, "turns") ? yielded.findIndex(beginsTurn) : -1;
    if (at < 0) return this.#take(yielded, batch);
    this.#take(yielded.slice(0, at), { bytes: batch.bytes, credit: 0 });
    this.#take(yielded.slice(at, at + 1), { bytes: 0, credit: batch.credit });
    this.#takeTurns(yielded.slice(at + 1), { bytes: 0, credit: 0 });
  }

  /**
   * Handles a batch of yielded events: checks them, applies the rules, adds them to the log, then gives credit back.
   */
  #take(yielded: unknown[], { bytes, credit, text }: EventBatch): void {
    const { stream, rules, deadlines } = this.#deps;
    deadlines.heard();
    if (yielded.length === 0) return;
    const { limits } = this.candidate.plugin;
    const entries: LogEntry[] = [];
    let isUnchanged = true;
    for (const one of yielded) {
      const said = checkEvent(one, limits.message_depth);
      const named = this.#broker?.addresses.inEvent(said) ?? said;
      const event = rules.accept(stream.redacted(this.#changes.take(named)), limits);
      isUnchanged &&= event === one;
      entries.push({ source: "agent", event });
    }
    stream.add(entries, { bytes, text: isUnchanged ? text : undefined })
      .then(() => this.#giveCredit(entries.length, credit), () => {});
    for (const { event } of entries) this.#react(event as AdapterEvent);
    this.#deps.requests.closeEnded();
  }

  /** Gives credit back for durable events; beyond the rate it comes later, and the adapter waits for it. */
  #giveCredit(durable: number, itsCredit: number): void {
    this.#owed.events += durable;
    this.#owed.credit += itsCredit;
    // Each message wakes the worker, so credit is given back in quarters; an adapter stops only without credit.
    if (this.#owed.credit < this.candidate.plugin.limits.event_credit / 4) return;
    const { events, credit } = this.#owed;
    this.#owed = { events: 0, credit: 0 };
    const waitMs = this.#rate.take(events, performance.now());
    if (waitMs === 0) this.#entry?.addCredit(credit);
    else startBackgroundTimer(() => this.#entry?.addCredit(credit), waitMs);
  }

  /** Returns the allowed part of a batch. The rest gets no credit either, so a flood dries up. */
  #withinLimits(yielded: unknown[], bytes: number): unknown[] {
    const { allowance, stop } = this.#deps;
    const { kept, problem } = allowance.take({ events: yielded.length, bytes }, this.candidate.plugin.limits);
    if (problem !== null) stop("fatal", { code: "limit_exceeded", message: problem });
    return kept === yielded.length ? yielded : yielded.slice(0, kept);
  }

  #react(event: AdapterEvent): void {
    const { usage, requests, stop } = this.#deps;
    const unasked = this.#unasked.take(event);
    if (unasked !== null) stop("fatal", unasked);
    switch (event.type) {
      case "output":
        return this.#words.add(event.data);
      case "usage":
        usage.take(event);
        return this.#deps.onUsed();
      case "tool_call":
        return this.#deps.onUsed();
      case "completed":
        usage.complete(event);
        this.#deps.onUsed();
        return this.#deps.onLastWord();
      case "agent_info":
        usage.model(event.model);
        if (event.agent_session_id !== undefined) this.#deps.onAgentSession(event.agent_session_id);
        this.#toolVersion = event.agent_version ?? this.#toolVersion;
        return;
      case "message":
        return this.#deps.turns.heard(event);
      case "turn_began":
        this.#deps.turnBegan(event.message_ids);
        return this.#watch();
      case "error":
        if (event.code === "rate_limit") this.#waitMs ??= waitIn(event.message);
        return this.#deps.onLastWord();
      case "rate_limit":
        this.#waitMs = event.wait_ms;
        this.#limit = event.message;
        return;
      case "question":
        return this.#ask(event.request_id, {
          offered: null,
          policy: null,
          what: `the question "${shortText(event.question, 200)}"`,
          asked: { type: "question", text: event.question, choices: event.options ?? [] },
        });
      case "permission_request":
        this.#ask(event.request_id, {
          offered: event.options.map(({ id }) => id),
          refusal: refusalOf(event.options),
          policy: this.#policyAnswer(event),
          what: `the request to use "${shortText(event.tool, 200)}"`,
          asked: {
            type: "permission_request",
            text: event.title,
            choices: event.options.map(({ id }) => id),
          },
        });
        return this.#unasked.asked(event, requests.wait(event.request_id));
      default:
        return;
    }
  }

  #policyAnswer(event: PermissionRequestEvent): string | null {
    const kind = event.kind ?? this.#deps.rules.kindOf(event.call_id);
    return policyAnswer(event, this.candidate.approval, kind);
  }

  /** Lets policy or a client answer; without an answer in time the session is blocked. */
  #ask(requestId: string, { policy, what, asked, offered, refusal = null }: Question): void {
    const { session: { request, answerTimeoutMs: ms }, requests, deadlines, stop } = this.#deps;
    if (policy !== null) return requests.addAnswered(requestId, policy);
    const onExpired = () => stop(offered === null ? "question_deadline" : "permission_deadline", unanswered(what, ms));
    const endsInMs = request.timeout_ms === undefined ? Infinity : deadlines.leftMs;
    const wanted = request.answer_timeout_ms ?? 0;
    const cutFromMs = wanted > ms ? wanted : undefined;
    requests.add(requestId, { asked, offered, refusal, ms, endsInMs, cutFromMs, onExpired });
  }
}

function beginsTurn(yielded: unknown): boolean {
  return typeof yielded === "object" && yielded !== null && "type" in yielded && yielded.type === "turn_began";
}

/** Says how long nothing came, and quotes the last words: a program may wait for the answer to a question. */
function silence(ms: number, words: string): string {
  if (words === "") return `Nothing was heard of the agent for ${ms} ms.`;
  return `Nothing more was heard of the agent for ${ms} ms. Its last words: "${words}"`;
}

/** Operations that change nothing, and one that waits by itself before it does. */
const waitsItself: ReadonlySet<string> = new Set(["run", "env_get", "secret_use", "log"]);

/** Operations that do not begin any work: an adapter may call them between two turns. Others wait for the next one. */
const worksBetweenTurns: ReadonlySet<string> = new Set<OperationName>([
  "stream_read",
  "stream_close",
  "process_wait",
  "process_kill",
  "process_close_stdin",
  "socket_read",
  "socket_close",
  "permission_wait",
  "answer_wait",
  "log",
]);

/** A permission request or question, and its possible answers. */
interface Question {
  /** Ids of the possible answers; null: any text. */
  offered: string[] | null;
  /** The answer that says no. */
  refusal?: string | null;
  /** The answer of policy; null when a client is asked. */
  policy: string | null;
  /** Ending of the sentence "the session is blocked by". */
  what: string;
  asked: Asked;
}

/** Returns the longest silence of a candidate's attempt, in milliseconds. */
export function idleMs({ request, plugin }: Candidate): number {
  return Math.min(request.idle_timeout_ms ?? Infinity, plugin.limits.idle_timeout_ms);
}

function inOrder<T>(modes: readonly T[], first: T | null): T[] {
  return first === null ? [...modes] : [first, ...modes.filter((mode) => mode !== first)];
}

/** Makes the event of a worker that was lost. */
function workerEvent({ code, message }: ErrorData): HostEvent {
  const state = code === "out_of_memory" ? "out_of_memory" : code === "crash" ? "crashed" : "killed";
  return { type: "worker", state, message };
}
