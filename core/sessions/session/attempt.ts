import { allContained, containsPrograms } from "../../packages/permissions/contained-programs.ts";
import { orderAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import { type ErrorData, errorFromData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import { TextTail } from "../../../plugin-sdk/text-tail.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionBroker } from "../../walls/broker/session-broker.ts";
import type { EntryOptions, EventBatch, LaneEntry } from "../../walls/pool/lane-entry.ts";
import type { WorkerPlace } from "../../walls/pool/plugin-pool.ts";
import { forAuthor } from "../../packages/registry/for-author.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { PluginScript } from "../../packages/manifest/plugin.ts";
import { longestLimitMs } from "../routing/access-mode-counters.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { unlessAborted } from "../../ground/platform/engine/within.ts";
import { attemptBroker } from "./attempt-broker.ts";
import type { AttemptDeps, Candidate } from "./admitted.ts";
import { askClient } from "./ask-client.ts";
import { canTalk } from "./enforceable.ts";
import { checkEvent, waitIn } from "./check-event.ts";
import type { LogEntry } from "./merged-log.ts";
import { ReturnedCredit } from "./returned-credit.ts";
import { ToldChanges } from "./told-changes.ts";
import { EntryTurns } from "./entry-turns.ts";
import { answerTurnCall, isTurnOperation, waitsItself, worksBetweenTurns } from "./turn-calls.ts";
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
  readonly #credit: ReturnedCredit;
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
  readonly #entryTurns: EntryTurns;
  /** Settles when the preparations that must precede any work of an agent are done. */
  #prepared: Promise<void> = Promise.resolve();
  #isOver = false;
  /** Why the host cut the attempt off; the first reason is kept. */
  #cut: ErrorData | null = null;

  constructor(
    deps: AttemptDeps,
    { number, candidate, request }: { number: number; candidate: Candidate; request: SessionRequest },
  ) {
    this.#deps = deps;
    this.number = number;
    this.candidate = candidate;
    this.request = request;
    this.#entryTurns = new EntryTurns(deps, {
      candidate,
      request,
      pathOf: async (sha256) => String(await this.#brokerOf().call("attachment_path", { sha256 })),
      isOver: () => this.#isOver,
      beforeEnd: () => this.#reword(),
      onGiven: (turn) => {
        // What a last word left to say still has to come in time.
        this.#watch();
        if (turn !== null) this.#entry?.beginTurn();
      },
    });
    this.#changes = new ToldChanges(deps.session.place.workdir);
    this.#unasked = new UnaskedWork(candidate.request);
    this.#credit = new ReturnedCredit(candidate.plugin.limits, (credit) => this.#entry?.addCredit(credit));
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

  /** Returns what tells about its programs; null where it has called no broker yet. */
  get programs(): Pick<SessionBroker, "guardsChanged" | "heldBytes"> | null {
    return this.#broker;
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
    const { stream, deadlines, requests, signal } = this.#deps;
    signal.throwIfAborted();
    this.candidate.started();
    this.#tellStart();
    stream.chargeTo((ms) => lane.charge(ms));
    this.#prepared = before.then(() => {
      this.#isPrepared = true;
      deadlines.heard();
    });
    this.#prepared.catch(() => {});
    const { plugin, effective } = this.candidate;
    if (containsPrograms(plugin) && effective.run !== undefined) this.#brokerOf().prepare();
    this.#watch();
    try {
      if (this.request.content !== undefined) {
        await this.#entryTurns.fitRequest();
        signal.throwIfAborted();
        if (this.#cut !== null) throw errorFromData(this.#cut);
      }
      this.#entry = lane.open({
        ...this.#asked(),
        onEvents: (events, batch) => {
          const kept = this.#withinLimits(events, batch.bytes);
          this.#takeTurns(kept, kept === events ? batch : { bytes: batch.bytes, credit: kept.length });
        },
        onCall: (operation, args) => this.#answerCall(operation, args),
      });
      return await this.#entry.ended;
    } finally {
      deadlines.rest();
      requests.closeAll();
      this.#reword();
      await this.#broker?.close();
    }
  }

  /** Puts models' addresses back into the output, where stand-ins were. */
  #reword(): void {
    this.#deps.rules.reword((text) => this.#broker?.addresses.inText(text) ?? text);
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
      request: this.#entryTurns.request,
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

  async #answerCall(operation: string, args: unknown) {
    this.#deps.deadlines.heard();
    if (isTurnOperation(operation)) return await answerTurnCall(this.#entryTurns, operation, args);
    if (!worksBetweenTurns.has(operation)) await this.#deps.turns.working(() => this.#isOver);
    if (!this.#isPrepared && !waitsItself.has(operation)) await this.#prepared;
    return await this.#brokerOf().call(operation, args);
  }

  /** Made on demand: many sessions never call the broker, and then there is nothing to clean up. */
  #brokerOf(): SessionBroker {
    return this.#broker ??= attemptBroker(this.#deps, {
      number: this.number,
      candidate: this.candidate,
      workMayBegin: this.#prepared,
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
      .then(() => this.#credit.give(entries.length, credit), () => {});
    for (const { event } of entries) this.#react(event as AdapterEvent);
    this.#deps.requests.closeEnded();
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
        return askClient(this.#deps, this.candidate, event);
      case "permission_request":
        askClient(this.#deps, this.candidate, event);
        return this.#unasked.asked(event, requests.wait(event.request_id));
      default:
        return;
    }
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
