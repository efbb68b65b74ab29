import type { HostEvent } from "../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { PermissionUses, SessionResult, StopReason } from "../../plugin-sdk/result.ts";
import type { SessionBroker } from "../broker/session-broker.ts";
import { toErrorData } from "../errors/to-error-data.ts";
import { type ArtifactList, listArtifacts } from "../git/artifacts.ts";
import { releaseSnapshot, type Snapshot, takeSnapshot } from "../git/snapshot.ts";
import type { Entry as LaneEntry, EntryEnd } from "../pool/lane.ts";
import type { Place } from "../pool/plugin-pool.ts";
import { TokenBucket } from "../pool/token-bucket.ts";
import { withAuthorPositions } from "../registry/author-positions.ts";
import type { PluginScript } from "../registry/plugin.ts";
import { startBackgroundTimer } from "../runtime/background-timer.ts";
import { mkdir, rm } from "../runtime/files.ts";
import { join } from "../runtime/paths.ts";
import { platform } from "../runtime/platform.ts";
import { checkEvent } from "./check-event.ts";
import { Deadlines } from "./deadlines.ts";
import { EventRules } from "./event-rules.ts";
import type { Entry, Stream } from "./merged-log.ts";
import { OpenRequests, policyAnswer } from "./open-requests.ts";
import { recordedRequest } from "./recorded-request.ts";
import { buildResult } from "./result.ts";
import type { SessionSetup } from "./session-setup.ts";
import { UsageMeter } from "./usage-meter.ts";
import { reachVerdict } from "./verdict.ts";

/**
 * One session from its first event to its last. Whatever the adapter does, it ends exactly once, with a result that
 * says how.
 */
export class RunningSession {
  /** Rejects only when the journal cannot be written. */
  readonly result: Promise<SessionResult>;
  readonly #setup: SessionSetup;
  readonly #stream: Stream;
  readonly #started = performance.now();
  readonly #startedAt = new Date().toISOString();
  readonly #abort = new AbortController();
  readonly #rules = new EventRules();
  readonly #usage = new UsageMeter();
  readonly #requests = new OpenRequests();
  readonly #deadlines: Deadlines;
  readonly #rate: TokenBucket;
  #entry: LaneEntry | null = null;
  #uses: PermissionUses = { allowed: 0, denied: 0, by: {} };
  #stopped: { reason: StopReason; error: ErrorData } | null = null;
  #toolVersion: string | null = null;
  /** Events that are durable and whose credit has not gone back yet. */
  #owedCredit = 0;
  /** Something may lie in the session's scratch folder. */
  #usesScratch = false;
  #events = 0;
  #eventBytes = 0;
  /** The last event is on its way into the log: nothing may follow it. */
  #ended = false;
  #writeFailure: { error: unknown } | null = null;

  constructor(setup: SessionSetup) {
    this.#setup = setup;
    const { plugin, sessionId, request } = setup;
    const { limits, manifest } = plugin;
    this.#stream = { sessionId, adapter: { id: plugin.id, version: manifest.version }, attempt: 1, lastSeq: 0 };
    this.#rate = new TokenBucket(limits.events_per_second, performance.now());
    this.#deadlines = new Deadlines({
      // A request and a manifest may only make the operator's deadlines shorter.
      totalMs: Math.min(request.timeout_ms ?? manifest.defaults?.timeout_ms ?? Infinity, limits.timeout_ms),
      idleMs: Math.min(request.idle_timeout_ms ?? Infinity, limits.idle_timeout_ms),
      onTotal: (ms) => this.stop("timeout", `The session was not done within ${ms} ms.`),
      onIdle: (ms) => this.stop("idle_timeout", `Nothing was heard of the agent for ${ms} ms.`),
    });
    this.result = this.#run();
  }

  /** Ends the session for a reason of the host; the first reason is kept. */
  stop(reason: StopReason, message: string): void {
    this.#stopWith(reason, { code: codeFor(reason), message });
  }

  #stopWith(reason: StopReason, error: ErrorData): void {
    if (this.#stopped) return;
    this.#stopped = { reason, error };
    this.#abort.abort(error);
    this.#entry?.cancel(error);
  }

  /** Answers a permission request or question; false when that one is not open or does not offer the choice. */
  answer(requestId: string, choice: string, by: "client" | "policy" = "client"): boolean {
    if (!this.#requests.takes(requestId, choice) || !this.#rules.resolve(requestId)) return false;
    this.#host({ type: "permission_resolved", request_id: requestId, choice, by });
    this.#requests.settle(requestId, choice);
    return true;
  }

  async #run(): Promise<SessionResult> {
    const { request, workdir, plugin, scratchDir, sessionId } = this.#setup;
    this.#host({
      type: "session_started",
      adapter_id: plugin.id,
      workdir,
      task_id: request.task_id ?? null,
      labels: request.labels ?? {},
      requested: recordedRequest(request),
      effective: {
        permissions: this.#setup.effective,
        model: request.model ?? null,
        timeout_ms: this.#deadlines.totalMs,
        idle_timeout_ms: this.#deadlines.idleMs,
      },
    });
    const scratch = join(scratchDir, sessionId);
    const work: Work = { snapshot: null, script: null, failure: null };
    try {
      await this.#work(scratch, work);
    } catch (thrown) {
      work.failure = thrown === this.#abort.signal.reason
        ? null
        : withAuthorPositions(toErrorData(thrown), work.script);
    }
    const result = await this.#finish(work);
    if (this.#usesScratch) await rm(scratch, { recursive: true, force: true }).catch(() => {});
    return result;
  }

  async #work(scratch: string, work: Work): Promise<void> {
    const { workdir, artifacts, stateDir, secretPaths, script } = this.#setup;
    const { signal } = this.#abort;
    const placing = this.#setup.acquire({
      signal,
      onQueued: (position, waitMs) => {
        const retry = waitMs > 0 ? { retry_in_ms: Math.ceil(waitMs) } : {};
        this.#host({ type: "queued", position, ...retry });
      },
    });
    // A place that comes after the session has failed elsewhere must go back.
    placing.catch(() => {});
    try {
      work.script = await script();
      if (artifacts === "git") {
        this.#usesScratch = true;
        await mkdir(scratch, { recursive: true });
        work.snapshot = await takeSnapshot(workdir, {
          scratchDir: scratch,
          exclude: [stateDir, ...secretPaths],
          signal,
        });
      }
    } catch (error) {
      placing.then((place) => place.release(), () => {});
      throw error;
    }
    const place = await placing;
    try {
      const end = await this.#attempt(place, scratch);
      if (!("error" in end)) return;
      work.failure = withAuthorPositions(end.error, work.script);
      if (end.lost) this.#host(workerEvent(end.error));
    } finally {
      place.release();
    }
  }

  async #attempt(place: Place, scratch: string): Promise<EntryEnd> {
    const { plugin, request, workdir, sessionId } = this.#setup;
    this.#abort.signal.throwIfAborted();
    this.#host({ type: "attempt_started", attempt: 1, adapter_id: plugin.id });
    let broker: SessionBroker | null = null;
    this.#deadlines.start();
    try {
      this.#entry = place.lane.open({
        call: "run_session",
        request,
        config: {
          working_directory: workdir,
          access_modes: plugin.manifest.access_modes ?? [],
          custom: plugin.config,
        },
        facts: { session_id: sessionId, attempt: 1, workdir, plugin_dir: plugin.folder, platform },
        onEvents: (events, bytes) => this.#take(this.#withinLimits(events, bytes)),
        onCall: (operation, args) => {
          this.#deadlines.heard();
          // Many sessions never ask for anything: then there is nothing to make and nothing to clean up.
          broker ??= this.#makeBroker(scratch);
          return broker.call(operation, args);
        },
      });
      return await this.#entry.ended;
    } finally {
      this.#deadlines.stop();
      this.#requests.close();
      await (broker as SessionBroker | null)?.close();
    }
  }

  #makeBroker(scratch: string): SessionBroker {
    const { plugin, effective, requestEnv, workdir, sessionId, dataDir, writeLog, makeBroker, askGrant } = this.#setup;
    this.#usesScratch = true;
    const broker = makeBroker({
      sessionId,
      pluginId: plugin.id,
      workdir,
      pluginDir: plugin.folder,
      dataDir,
      tempDir: join(scratch, "temp"),
      ...this.#setup.guarded,
      permissions: effective,
      ceiling: this.#setup.ceiling,
      secrets: this.#setup.secrets,
      redactor: this.#setup.redactor,
      grantPlace: this.#setup.grantPlace,
      requestEnv,
      limits: plugin.limits,
      emit: (event) => this.#host(event),
      ...(askGrant ? { askGrant } : {}),
      writeLog,
      waitForAnswer: (_kind, requestId) => this.#requests.wait(requestId),
    });
    this.#uses = broker.uses;
    return broker;
  }

  /** A batch of what the adapter yielded: checked, held to the rules, put into the log; then credit goes back. */
  #take(yielded: unknown[]): void {
    this.#deadlines.heard();
    if (yielded.length === 0) return;
    const { limits } = this.#setup.plugin;
    const entries = yielded.map((one): Entry => ({
      source: "agent",
      event: this.#rules.accept(this.#redacted(checkEvent(one, limits.message_depth))),
    }));
    this.#setup.log.add(this.#stream, entries).then(
      () => this.#giveCredit(entries.length),
      (error: unknown) => this.#cannotWrite(error),
    );
    for (const { event } of entries) this.#react(event as AdapterEvent);
  }

  #redacted<T>(value: T): T {
    const { redactor } = this.#setup;
    return redactor === null ? value : redactor.value(value);
  }

  /** Credit for events that are durable; beyond the rate it comes later, and the adapter waits for it. */
  #giveCredit(durable: number): void {
    this.#owedCredit += durable;
    // Each message wakes the worker, so credit is given back in quarters; it stops at none.
    if (this.#owedCredit < this.#setup.plugin.limits.event_credit / 4) return;
    const events = this.#owedCredit;
    this.#owedCredit = 0;
    const waitMs = this.#rate.take(events, performance.now());
    if (waitMs === 0) this.#entry?.addCredit(events);
    else startBackgroundTimer(() => this.#entry?.addCredit(events), waitMs);
  }

  /** What of a batch is still allowed. What is beyond gets no credit either, so a flood dries up. */
  #withinLimits(yielded: unknown[], bytes: number): unknown[] {
    const { events, event_bytes_total } = this.#setup.plugin.limits;
    this.#eventBytes += bytes;
    if (this.#eventBytes > event_bytes_total) {
      this.#limitReached(`The session's events had more than ${event_bytes_total} bytes.`);
      return [];
    }
    const room = events - this.#events;
    this.#events += Math.min(yielded.length, room);
    if (yielded.length <= room) return yielded;
    this.#limitReached(`The session had more than ${events} events.`);
    return yielded.slice(0, room);
  }

  #limitReached(message: string): void {
    this.#stopWith("fatal", { code: "limit_exceeded", message });
  }

  #react(event: AdapterEvent): void {
    switch (event.type) {
      case "usage":
        this.#usage.take(event);
        return this.#holdBudget();
      case "tool_call":
        return this.#holdBudget();
      case "completed":
        return this.#usage.complete(event);
      case "agent_info":
        this.#usage.model(event.model);
        this.#toolVersion = event.agent_version ?? this.#toolVersion;
        return;
      case "question":
        return this.#requests.add(event.request_id);
      case "permission_request": {
        this.#requests.add(event.request_id, event.options.map(({ id }) => id));
        const choice = policyAnswer(event, this.#setup.request.approval);
        if (choice !== null) this.answer(event.request_id, choice, "policy");
        return;
      }
      default:
        return;
    }
  }

  #holdBudget(): void {
    const { budget } = this.#setup.request;
    if (!budget) return;
    const over = (used: number | null, most: number | undefined) => used !== null && most !== undefined && used > most;
    if (over(this.#usage.cost, budget.cost)) this.stop("budget_cost", `The session cost more than ${budget.cost}.`);
    if (over(this.#usage.tokens, budget.tokens)) {
      this.stop("budget_tokens", `The session used more than ${budget.tokens} tokens.`);
    }
    if (over(this.#usage.turns, budget.turns)) {
      this.stop("budget_turns", `The session took more than ${budget.turns} turns.`);
    }
    if (over(this.#rules.toolCalls, budget.tool_calls)) {
      this.stop("budget_tool_calls", `The session made more than ${budget.tool_calls} tool calls.`);
    }
  }

  #host(event: HostEvent): void {
    // A person's answer to a question of the broker may come when its session is over.
    if (this.#ended) return;
    const entry: Entry = { source: "host", event: this.#redacted(event) };
    this.#setup.log.add(this.#stream, [entry]).catch((error: unknown) => this.#cannotWrite(error));
  }

  /** A log that cannot be written ends the session: what nobody can read back did not happen. */
  #cannotWrite(error: unknown): void {
    this.#writeFailure ??= { error };
    this.stop("fatal", "The journal could not be written.");
  }

  async #finish({ snapshot, script, failure }: Work): Promise<SessionResult> {
    const closing = this.#rules.finish();
    const changed = await this.#changes(snapshot);
    if (this.#setup.artifacts === "git") {
      const reason = changed.artifacts === null ? { reason: changed.reason } : {};
      const event: HostEvent = { type: "artifacts", artifacts: changed.artifacts, ...reason };
      closing.push({ source: "host", event: this.#redacted(event) });
    }
    const result = this.#redacted(buildResult(this.#setup, {
      verdict: reachVerdict({ stopped: this.#stopped, failure, lastWord: this.#rules.lastWord }),
      rules: this.#rules,
      usage: this.#usage.report(Math.round(performance.now() - this.#started)),
      changed,
      gitBase: snapshot?.head ?? null,
      packageSha256: script?.sha256 ?? null,
      toolVersion: this.#toolVersion,
      uses: this.#uses,
      startedAt: this.#startedAt,
      deadlines: this.#deadlines,
    }));
    closing.push({ source: "host", event: { type: "session_ended", result } });
    this.#ended = true;
    await this.#setup.log.add(this.#stream, closing).catch((error: unknown) => this.#cannotWrite(error));
    if (this.#writeFailure) throw this.#writeFailure.error;
    return result;
  }

  async #changes(snapshot: Snapshot | null): Promise<ArtifactList> {
    if (!snapshot) {
      const reason = this.#setup.artifacts === "none" ? "not_asked" : "not_started";
      return { artifacts: null, reason, head: null };
    }
    const changed = await listArtifacts(snapshot);
    await releaseSnapshot(snapshot);
    return changed;
  }
}

/** What a session's work leaves for its end. */
interface Work {
  snapshot: Snapshot | null;
  script: PluginScript | null;
  failure: ErrorData | null;
}

function workerEvent({ code, message }: ErrorData): HostEvent {
  const state = code === "out_of_memory" ? "out_of_memory" : code === "crash" ? "crashed" : "killed";
  return { type: "worker", state, message };
}

function codeFor(reason: StopReason): ErrorData["code"] {
  switch (reason) {
    case "timeout":
    case "idle_timeout":
    case "interrupted":
      return reason;
    case "budget_cost":
    case "budget_tokens":
    case "budget_turns":
    case "budget_tool_calls":
      return "limit_exceeded";
    default:
      return "fatal";
  }
}
