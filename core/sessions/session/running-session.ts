import type { GitEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type {
  AttemptReport,
  EffectiveSettings,
  PermissionUses,
  SessionResult,
  StopReason,
  Substitution,
} from "../../../plugin-sdk/result.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { saysComplete } from "../../ground/prompt/loop-signal.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { addUses } from "../../walls/broker/add-uses.ts";
import { Attempt } from "./attempt.ts";
import type { Admitted, AttemptDeps, Candidate, RunningSessionDeps } from "./admitted.ts";
import { effectiveSettings, exceededBudget } from "./effective-settings.ts";
import { type FailedAttempt, failureClass, nextCandidate, type NextStep, nextStep } from "./retry-policy.ts";
import { Deadlines, outOfTime, waitForLimit } from "./deadlines.ts";
import { EventAllowance, EventRules } from "./event-rules.ts";
import { OpenRequests } from "./open-requests.ts";
import { buildResult, recordedRequest } from "./result.ts";
import { SessionGit } from "./session-git.ts";
import { SessionChanges } from "./session-changes.ts";
import { SessionStream } from "./session-stream.ts";
import { unmetClaims } from "./unmet-claims.ts";
import { runsAgents } from "../../packages/permissions/contained-programs.ts";
import type { AgentAccess } from "./priced-usage.ts";
import { UsageMeter } from "./usage-meter.ts";
import { structuredOutput } from "./structured-output.ts";
import { codeOfStop, reachVerdict, type Verdict, withWork, type WorkDone } from "./verdict.ts";

/** One session from its first event to its last. It ends exactly once, with a result, whatever adapters do. */
export class RunningSession {
  /** Rejects only when its end cannot be written. */
  readonly result: Promise<SessionResult>;
  readonly #session: Admitted;
  readonly #deps: RunningSessionDeps;
  readonly #attemptDeps: AttemptDeps;
  readonly #stream: SessionStream;
  readonly #rules = new EventRules();
  readonly #requests: OpenRequests;
  readonly #usage = new UsageMeter();
  readonly #uses: PermissionUses = { allowed: 0, denied: 0, by: {} };
  readonly #deadlines: Deadlines;
  /** Why the last attempt that failed did. */
  #setback: string | null = null;
  readonly #changes: SessionChanges;
  readonly #git: SessionGit;
  readonly #started = performance.now();
  readonly #abort = new AbortController();
  readonly #attempts: AttemptReport[] = [];
  readonly #substitutions: Substitution[] = [];
  #attempt: Attempt | null = null;
  #stopped: { reason: StopReason; error: ErrorData } | null = null;
  /** True once the last attempt has ended: later events no longer change how the session ended. */
  #isDecided = false;
  /** True once the session's scratch folder may hold files. */
  #usesScratch = false;
  /** Data of the agent that fits the output schema, if there is one. */
  #structured: unknown;
  /** Work of the agent that forbids another attempt. */
  #inTheWay: WorkDone | null = null;

  constructor(session: Admitted, deps: RunningSessionDeps) {
    this.#session = session;
    this.#deps = deps;
    const { sessionId, request, place, redactor, candidates: [{ plugin }] } = session;
    const { log, scratchDir, gitDir, stateDir } = deps;
    this.#changes = new SessionChanges(session, deps);
    this.#git = new SessionGit({
      sessionId,
      workdir: place.workdir,
      workspaceDir: place.workspaceDir ?? null,
      gitDir,
      closed: [stateDir, ...deps.guarded().protectedPaths ?? []],
      spelledRoots: session.candidates.flatMap(({ plugin: { grant } }) => grant.write ?? []),
    });
    this.#stream = new SessionStream({
      log,
      sessionId,
      adapter: { id: plugin.id, version: plugin.manifest.version },
      redactor,
      onFailure: (error) => this.#cannotWrite(error),
    });
    this.#requests = new OpenRequests({ rules: this.#rules, stream: this.#stream });
    this.#deadlines = new Deadlines({
      // A request and a manifest may only shorten the operator's deadlines.
      totalMs: Math.min(
        request.timeout_ms ?? plugin.manifest.defaults?.timeout_ms ?? Infinity,
        plugin.limits.timeout_ms,
      ),
      onTotal: (ms) => this.stop("timeout", outOfTime(ms, this.#attempt?.limit ?? null, this.#setback)),
      waits: () => this.#requests.waits,
      // The client that named an end gets it by the clock.
      waitedMs: () => request.timeout_ms === undefined ? this.#requests.waitedMs : 0,
    });
    this.#attemptDeps = {
      session,
      host: deps,
      stream: this.#stream,
      rules: this.#rules,
      requests: this.#requests,
      deadlines: this.#deadlines,
      usage: this.#usage,
      git: this.#git,
      allowance: new EventAllowance(),
      scratch: join(scratchDir, sessionId),
      signal: this.#abort.signal,
      processes: { lastId: 0 },
      stop: (reason, error) => this.#stopWith(reason, error),
      onUsed: () => this.#holdBudget(),
      onScratch: () => void (this.#usesScratch = true),
    };
    this.result = this.#run();
  }

  /** Ends the session for a reason of the host. The first reason is kept; none counts once the agent has ended. */
  stop(reason: StopReason, message: string): void {
    if (!this.#isDecided) this.#stopWith(reason, { code: codeOfStop(reason), message });
  }

  /** Returns true once its last event is written, or cannot be written. */
  get isOver(): boolean {
    return this.#stream.ended;
  }

  get waiting(): WaitingRequest[] {
    return this.#requests.waiting;
  }

  /** Answers a permission request or question; false when it is not open or does not offer the choice. */
  answer(requestId: string, choice: string | null): boolean {
    return this.#requests.answer(requestId, choice);
  }

  #stopWith(reason: StopReason, error: ErrorData): void {
    if (this.#stopped) return;
    this.#stopped = { reason, error };
    this.#abort.abort(error);
    this.#attempt?.cut(error);
  }

  async #run(): Promise<SessionResult> {
    const { request, place: { workdir, copied }, candidates, resumed } = this.#session;
    this.#stream.host({
      type: "session_started",
      adapter_id: candidates[0].plugin.id,
      workdir,
      task_id: request.task_id ?? null,
      labels: request.labels ?? {},
      requested: recordedRequest(request),
      effective: this.#effective(candidates[0]),
      candidates: [...new Set(candidates.map(({ plugin }) => plugin.id))],
      passed_over: this.#session.passedOver,
      ...omitUndefined({ resumed_from: resumed?.from, times_resumed: resumed?.times, copied: copied ?? undefined }),
    });
    for (const { adapter_id, reason } of this.#session.replaced) {
      this.#replace({ from: adapter_id, to: candidates[0].plugin.id, reason });
    }
    const failure = await this.#tryAll();
    this.#isDecided = true;
    this.#deadlines.stop();
    const result = await this.#finish(failure);
    if (this.#usesScratch) await removeTree(this.#attemptDeps.scratch).catch(() => {});
    return result;
  }

  /** Tries the candidates until an attempt's outcome is final; returns the error it failed with, or null. */
  async #tryAll(): Promise<ErrorData | null> {
    const { candidates } = this.#session;
    const before = this.#changes.begin(this.#abort.signal);
    before.catch(() => {});
    let index = 0;
    let tries = 0;
    let waited = 0;
    for (let number = 1;; number++) {
      const candidate = candidates[index]!;
      const failure = await this.#try(candidate, { number, before, waited });
      tries++;
      const error = this.#verdict(failure).error;
      if (this.#stopped || error === undefined) return failure;
      const next = nextCandidate(candidates, index, failureClass(error));
      const step = this.#stepAfter(failure, { error, tries, next: next?.through ?? null });
      const done = step.act === "give_up" ? null : await this.#workInTheWay();
      const gives = step.act === "give_up" || done !== null;
      const { aborted } = this.#abort.signal;
      this.#setback = error.message;
      this.#stream.host({
        type: "attempt_failed",
        attempt: number,
        adapter_id: candidate.plugin.id,
        error,
        retry_in_ms: !gives && !aborted && step.act === "retry" ? step.wait_ms : null,
      });
      this.#inTheWay = done;
      if (gives) return failure;
      waited = step.act === "retry" ? step.wait_ms : 0;
      if (!aborted && step.act === "next" && next !== null) {
        index = next.index;
        if (next.through === "adapter") tries = 0;
        this.#substitute(candidate, candidates[index]!, error);
      }
      const ended = await this.#pause(waited);
      if (ended !== null) return ended;
    }
  }

  /** Keeps the data of an agent that has done its work; returns why it does not count. */
  async #checkOutput({ plugin }: Candidate): Promise<ErrorData | null> {
    const { data, error = null } = await structuredOutput(this.#rules, { request: this.#session.request, plugin });
    this.#structured = data;
    return error;
  }

  /** Decides what follows an attempt that has failed. */
  #stepAfter(failure: ErrorData | null, failed: Pick<FailedAttempt, "error" | "tries" | "next">): NextStep {
    const { lastWord } = this.#rules;
    return nextStep({
      ...failed,
      waitMs: this.#attempt!.waitMs,
      hopeless: failure === null && lastWord?.type === "error" && !lastWord.recoverable,
      timeLeftMs: this.#deadlines.leftMs,
      // Do not retry an agent that reported completion because its worker failed afterwards.
      retry: lastWord?.type === "completed" ? "never" : this.#session.request.retry ?? "safe",
    });
  }

  /** Runs one attempt and records its end; returns the error it failed with. */
  async #try(
    candidate: Candidate,
    { number, before, waited }: { number: number; before: Promise<void>; waited: number },
  ): Promise<ErrorData | null> {
    const { plugin } = candidate;
    if (number > 1) {
      this.#rules.begin(number);
      this.#stream.begin(number, { id: plugin.id, version: plugin.manifest.version });
    }
    const attempt = new Attempt(this.#attemptDeps, { number, candidate });
    this.#attempt = attempt;
    this.#usage.begin(accessOf(candidate));
    const held = await waitForLimit(candidate, this.#attemptDeps);
    const failure = await attempt.run(before) ?? await this.#checkOutput(candidate);
    if (attempt.uses) addUses(this.#uses, attempt.uses);
    const { error } = this.#verdict(failure);
    candidate.ended({ tokens: this.#usage.attemptTokens, error, wait_ms: attempt.waitMs });
    this.#attempts.push({
      attempt: number,
      adapter_id: plugin.id,
      started_at: attempt.startedAt,
      duration_ms: attempt.durationMs,
      ...omitUndefined({ waited_ms: waited + held || undefined, error }),
    });
    // Each attempt must keep the rules of the stream by itself; the last attempt's end is also the session's.
    this.#stream.add(this.#rules.finish()).catch(() => {});
    return failure;
  }

  #effective(candidate: Candidate): EffectiveSettings {
    const workspace = this.#session.place.workspaceDir === undefined ? "inplace" : "worktree";
    const { answerTimeoutMs } = this.#session;
    const { output_schema: outputSchema } = this.#session.request;
    return effectiveSettings(candidate, { totalMs: this.#deadlines.totalMs, answerTimeoutMs, workspace, outputSchema });
  }

  #verdict(failure: ErrorData | null): Verdict {
    // If the attempt was already being cut off, that stays the reason: a later stop does not replace it.
    const cutFirst = failure !== null && failure === this.#attempt?.cutBy && failure !== this.#stopped?.error;
    const stopped = cutFirst ? null : this.#stopped;
    const { lastWord, refusedEnd } = this.#rules;
    const verdict = reachVerdict({ stopped, failure, lastWord, refusedEnd });
    if (verdict.error && this.#inTheWay) return { ...verdict, error: withWork(verdict.error, this.#inTheWay) };
    const { loopSignal } = this.#session;
    if (verdict.stop_reason !== "end_turn" || loopSignal === null) return verdict;
    const { prompt } = this.#attempt!.candidate.request;
    const sent = [prompt, this.#session.request.prompt];
    const text = this.#finalText();
    return saysComplete(text, { signal: loopSignal, sent }) ? { ...verdict, stop_reason: "loop_complete" } : verdict;
  }

  #finalText(): string {
    const { lastWord, text } = this.#rules;
    return (lastWord?.type === "completed" ? lastWord.output : undefined) ?? text;
  }

  #substitute(from: Candidate, to: Candidate, error: ErrorData): void {
    const named = ({ plugin, accessMode }: Candidate) =>
      from.plugin.id === to.plugin.id && accessMode !== null ? `${plugin.id} (${accessMode.type})` : plugin.id;
    this.#replace({ from: named(from), to: named(to), reason: error.message });
  }

  #replace(substitution: Substitution): void {
    this.#substitutions.push(substitution);
    this.#stream.host({ type: "fallback", ...substitution });
  }

  /** Waits before the next attempt; returns why the session was ended meanwhile, or null. */
  async #pause(ms: number): Promise<ErrorData | null> {
    if (ms > 0) await wait(ms, this.#abort.signal);
    return this.#stopped?.error ?? null;
  }

  /** Returns the agent's work that another attempt would repeat. Null when a retry is safe. */
  async #workInTheWay(): Promise<WorkDone | null> {
    const { request, place } = this.#session;
    if (request.retry === "always") return null;
    const work = { tool_calls: this.#rules.toolCalls, changed: await this.#changedPaths() };
    if (work.tool_calls === 0 && work.changed.length === 0) return null;
    if (place.reset === null) return work;
    await this.#takeOverGit();
    const reset = await place.reset().then(() => true, () => false);
    if (reset) this.#rules.forgetClaims();
    return reset ? null : work;
  }

  async #takeOverGit(): Promise<GitEvent | null> {
    const event = await this.#git.end();
    if (event !== null) this.#stream.host(event);
    return event;
  }

  async #changedPaths(): Promise<string[]> {
    return await this.#changes.now() ?? this.#rules.claimedPaths;
  }

  #holdBudget(): void {
    const { request } = this.#session;
    if (request.budget === undefined && request.max_turns === undefined) return;
    const { cost, tokens, turns } = this.#usage;
    const exceeded = exceededBudget({ cost, tokens, turns, tool_calls: this.#rules.toolCalls }, request);
    if (exceeded) this.stop(exceeded.reason, exceeded.message);
  }

  /** Ends the session when the log cannot be written: unrecorded work counts as not done. */
  #cannotWrite(error: unknown): void {
    this.#stopWith("fatal", toErrorData(error));
  }

  async #finish(failure: ErrorData | null): Promise<SessionResult> {
    // First: commits that it takes over are no changes any more.
    const git = await this.#takeOverGit();
    const { left, ...changed } = await this.#changes.end({ ranPrograms: this.#attemptDeps.processes.lastId > 0 });
    const sharedWith = await this.#deps.sharedWith();
    if (this.#session.artifacts === "git") {
      const { artifacts } = changed;
      const more = artifacts === null ? { reason: changed.reason } : { omitted: changed.others.length || undefined };
      this.#stream.host({ type: "artifacts", artifacts, ...omitEmpty({ ...more, shared_with: sharedWith }) });
    }
    if (left.held.length + left.install_scripts.length > 0) this.#stream.host({ type: "held", ...left });
    const attempt = this.#attempt!;
    const result = this.#stream.redacted(buildResult({
      ...this.#session,
      hostVersion,
      plugin: attempt.candidate.plugin,
      sentPrompt: attempt.candidate.request.prompt,
      effective: this.#effective(attempt.candidate),
    }, {
      verdict: this.#verdict(failure),
      rules: this.#rules,
      structured: this.#structured,
      usage: this.#usage.report(Math.round(performance.now() - this.#started)),
      changed,
      left,
      git,
      sharedWith,
      gitBase: this.#changes.head,
      packageSha256: attempt.script?.sha256 ?? null,
      toolVersion: attempt.toolVersion,
      claimedOnly: await unmetClaims(this.#rules.claimedPaths, { ...changed, workdir: this.#session.place.workdir }),
      uses: this.#uses,
      attempts: this.#attempts,
      substitutions: this.#substitutions,
    }));
    await this.#stream.end(result, (late) => this.#deps.keepEnd(late));
    return result;
  }
}

/** How a candidate reaches its agent. A program may have a model of its own in its settings: unknown until it says so. */
function accessOf({ plugin, accessMode, hasOwnGateway, request: { model } }: Candidate): AgentAccess {
  return { mode: hasOwnGateway === true ? null : accessMode, model: model ?? (runsAgents(plugin) ? null : undefined) };
}
