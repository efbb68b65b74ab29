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
  TurnReport,
} from "../../../plugin-sdk/result.ts";
import { outcomeOf } from "../../../plugin-sdk/result.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { saysComplete } from "../../ground/prompt/loop-signal.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { addUses } from "../../walls/broker/add-uses.ts";
import { Attempt } from "./attempt.ts";
import type { Admitted, AttemptDeps, Candidate, EarlierTurn, RunningSessionDeps } from "./admitted.ts";
import { accepts, canTalk } from "./enforceable.ts";
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
import { type LiveTalk, type TurnFacts, type TurnPrompt, Turns } from "./turns.ts";
import { SessionUsage } from "./usage-meter.ts";
import { structuredOutput } from "./structured-output.ts";
import { settingsHint } from "../routing/agent-report.ts";
import { codeOfStop, reachVerdict, type Verdict, withSettingsHint, withWork, type WorkDone } from "./verdict.ts";

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
  readonly #usage = new SessionUsage();
  readonly #turns: Turns;
  readonly #uses: PermissionUses = { allowed: 0, denied: 0, by: {} };
  readonly #deadlines: Deadlines;
  /** Why the last attempt that failed did. */
  #setback: string | null = null;
  readonly #changes: SessionChanges;
  readonly #git: SessionGit;
  readonly #started = performance.now();
  /** Aborts what the turn under way waits for. */
  #abort = new AbortController();
  readonly #allowance = new EventAllowance();
  readonly #attempts: AttemptReport[] = [];
  readonly #substitutions: Substitution[] = [];
  #attempt: Attempt | null = null;
  #stopped: Stop | null = null;
  /** How the last turn ended; null while one is under way. */
  #ended: Verdict | null = null;
  readonly #reports: TurnReport[] = [];
  readonly #earlier: EarlierTurn[] = [];
  #turnStarted = performance.now();
  /** Position of the candidate that serves the session. */
  #index = 0;
  /** Number of attempts so far. */
  #tries = 0;
  /** Turns that the agent began by itself. */
  #ownTurns = 0;
  /** The agent's own session, on the candidate that named it. */
  #agentSession: { candidate: Candidate; id: string } | null = null;
  /** Counts attempts and turns: ids of one do not meet those of another. */
  #stretches = 1;
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
    this.#turns = new Turns({
      sessionId,
      stream: this.#stream,
      keepMs: Math.min(request.keep_ms ?? 0, plugin.limits.keep_ms),
      maxTextBytes: plugin.limits.prompt_bytes,
      first: {
        number: session.firstTurn,
        text: request.prompt,
        outputSchema: request.output_schema,
        memory: session.follows?.memory ?? "none",
      },
      onStop: () => this.#stopTurn(),
    });
    const currentSignal = () => this.#abort.signal;
    this.#attemptDeps = {
      session,
      host: deps,
      stream: this.#stream,
      rules: this.#rules,
      requests: this.#requests,
      deadlines: this.#deadlines,
      usage: this.#usage,
      turns: this.#turns,
      git: this.#git,
      allowance: this.#allowance,
      scratch: join(scratchDir, sessionId),
      get signal() {
        return currentSignal();
      },
      nextTurn: (seen, isOver) => this.#nextTurn(seen, isOver),
      turnBegan: (messageIds) => this.#turnBegan(messageIds),
      onLastWord: () => this.#onLastWord(),
      onAgentSession: (id) => void (this.#agentSession = { candidate: this.#attempt!.candidate, id }),
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

  /** Returns its turns and messages. */
  get talk(): LiveTalk {
    return this.#turns;
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

  /** A reason of the turn ends the session as well, unless it may go on with another one. */
  #stopWith(reason: StopReason, error: ErrorData, { isAsked = false }: { isAsked?: boolean } = {}): void {
    const ofTurn = isAsked || (turnReasons.has(reason) && this.#turns.isTold && this.#turns.current !== null);
    if (this.#stopped !== null && (ofTurn || !this.#stopped.ofTurn)) return;
    this.#stopped = { reason, error, ofTurn };
    this.#abort.abort(error);
    this.#attempt?.cut(error);
    if (!ofTurn && this.#turns.current === null) this.#turns.end();
  }

  /** A client stops the turn: the agent is asked to go on with the next one, where it can. */
  #stopTurn(): void {
    const attempt = this.#attempt;
    const turn = this.#turns.current;
    if (turn === null) return;
    const cut = () => {
      if (this.#turns.current === turn) this.#stopWith("interrupted", stoppedTurn, { isAsked: true });
    };
    if (attempt === null || !canTalk(attempt.candidate.plugin.manifest, "stop_turn")) return cut();
    startBackgroundTimer(cut, attempt.candidate.plugin.limits.agent_grace_ms);
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
      ...omitUndefined({ follows: this.#session.follows ?? undefined }),
    });
    for (const { adapter_id, reason } of this.#session.replaced) {
      this.#replace({ from: adapter_id, to: candidates[0].plugin.id, reason });
    }
    const failure = await this.#converse();
    this.#isDecided = true;
    this.#deadlines.stop();
    const result = await this.#finish(failure);
    if (this.#usesScratch) await removeTree(this.#attemptDeps.scratch).catch(() => {});
    return result;
  }

  /** Takes turns until the session is to end; returns the error that the last one failed with, or null. */
  async #converse(): Promise<ErrorData | null> {
    const before = this.#changes.begin(this.#abort.signal);
    before.catch(() => {});
    const { request } = this.#session;
    let failure: ErrorData | null = null;
    if (request.prompt === "" && (request.keep_ms ?? 0) > 0) this.#ended = { stop_reason: "end_turn" };
    else {
      this.#turns.beginFirst();
      failure = await this.#tryAll(before);
    }
    for (;;) {
      // An entry that was kept has ended its turns itself.
      if (this.#turns.current !== null) {
        if (!this.#turns.isTold || this.#stopped?.ofTurn === false) this.#turns.end();
        if (!this.#turns.isTold) return failure;
        await this.#endTurn(failure, { isKept: false });
      } else await this.#takeOverGit();
      if (!await this.#turns.rest()) return failure;
      await this.#beginTurn({ isKept: false });
      failure = await this.#tryAll(Promise.resolve());
    }
  }

  /** Ends the turn under way of an entry, and rests with it until the next one; null when the entry gets no more. */
  async #nextTurn(seen: readonly string[], isOver: () => boolean): Promise<TurnPrompt | null> {
    const attempt = this.#attempt!;
    this.#turns.unseen(seen);
    const failure = await this.#checkOutput(attempt.candidate);
    const { error } = this.#turnVerdict(failure);
    const isOut = () => isOver() || this.#abort.signal.aborted;
    // What the agent did with git comes over with the end of its program alone.
    const hasMoved = await this.#git.hasMoved();
    if (hasMoved || isOut() || (error !== undefined && !this.#turns.isStopping) || !this.#turns.goesOn) return null;
    await this.#endTurn(failure, { isKept: true });
    const leave = this.#deps.keep(attempt.candidate.plugin.id, () => this.#turns.end());
    try {
      if (!await this.#turns.rest() || isOver()) return null;
    } finally {
      leave();
    }
    if (await this.#git.hasMoved()) return null;
    if (await this.#deps.termsChanged(attempt.candidate) || await attempt.guardsChanged()) {
      this.#turns.end(this.#deps.moveMessages(this.#turns.waiting()));
      return null;
    }
    return isOver() ? null : await this.#beginTurn({ isKept: true });
  }

  /** Ends the turn under way: how it ended is decided before anything is waited for. */
  async #endTurn(failure: ErrorData | null, { isKept }: { isKept: boolean }): Promise<void> {
    const { turn, facts } = this.#closeTurn(failure);
    if (!isKept) await this.#takeOverGit();
    const ranPrograms = this.#attemptDeps.processes.lastId > 0;
    const { left, ...changed } = await this.#changes.endTurn({ ranPrograms });
    if (left.held.length + left.install_scripts.length > 0) this.#stream.host({ type: "held", ...left });
    const why = changed.artifacts === null ? { artifacts_reason: changed.reason } : {};
    this.#turns.tell(turn, this.#stream.redacted({ ...facts, artifacts: changed.artifacts, ...why }));
  }

  #closeTurn(
    failure: ErrorData | null,
    { agentGoesOn = false }: { agentGoesOn?: boolean } = {},
  ): { turn: TurnPrompt; facts: Omit<TurnFacts, "artifacts" | "artifacts_reason"> } {
    const { stop_reason, error } = this.#ended = this.#turnVerdict(failure);
    this.#deadlines.stop();
    this.#requests.closeAll();
    this.#stream.add(this.#rules.finish()).catch(() => {});
    const turn = this.#turns.close({ failed: error !== undefined, agentGoesOn });
    const facts = {
      outcome: outcomeOf(stop_reason),
      stop_reason,
      output: this.#finalText(),
      ...omitUndefined({ structured_output: error === undefined ? this.#structured : undefined }),
      usage: this.#usage.turn(Math.round(performance.now() - this.#turnStarted)),
      checkpoint: null,
      ...omitUndefined({ error }),
    };
    this.#earlier.push({ prompt: turn.text, output: facts.output, files: this.#rules.claimedPaths });
    const { checkpoint: _tree, structured_output: _data, ...report } = facts;
    this.#reports.push({ turn: turn.number, ...report, output: shortText(facts.output, reportedText) });
    return { turn, facts };
  }

  /** Begins the turn of the message that waits. */
  async #beginTurn({ isKept }: { isKept: boolean }): Promise<TurnPrompt> {
    if (this.#stopped?.ofTurn === true) {
      this.#stopped = null;
      this.#abort = new AbortController();
    }
    await this.#changes.beginTurn(this.#abort.signal);
    this.#reset({ isKept });
    return await this.#turns.beginNext(isKept || this.#canContinue(this.#candidate) ? "agent" : "briefing");
  }

  /** Begins to count, for a further turn. */
  #reset({ isKept }: { isKept: boolean }): void {
    this.#ended = null;
    this.#structured = undefined;
    this.#inTheWay = null;
    this.#setback = null;
    this.#turnStarted = performance.now();
    this.#allowance.begin();
    this.#rules.begin(++this.#stretches);
    this.#usage.beginTurn(isKept ? accessOf(this.#candidate) : null);
  }

  /** The agent goes on by itself, after its last word or between two turns: with steers that it had kept, or unasked. */
  #turnBegan(messageIds: readonly string[]): void {
    const isUnderWay = this.#turns.current !== null;
    if (isUnderWay && this.#rules.lastWord === null) return;
    if (++this.#ownTurns > mostOwnTurns) {
      const message = `The agent began more than ${mostOwnTurns} turns by itself.`;
      return this.#stopWith("fatal", { code: "limit_exceeded", message });
    }
    if (isUnderWay) {
      this.#turns.open();
      const { turn, facts } = this.#closeTurn(null, { agentGoesOn: true });
      this.#turns.tell(turn, this.#stream.redacted({ ...facts, artifacts: null, artifacts_reason: "agent_went_on" }));
    }
    this.#reset({ isKept: true });
    this.#turns.beganByAgent(messageIds);
  }

  /** Ends a turn that the agent began between two others: nothing asks for the next one. */
  #onLastWord(): void {
    if (this.#turns.isResting && this.#turns.current?.by === "agent") {
      this.#endTurn(null, { isKept: true }).catch((error: unknown) => this.#cannotWrite(error));
    }
  }

  /** A turn that a client stopped is no failure, unless its agent had done it already. */
  #turnVerdict(failure: ErrorData | null): Verdict {
    const verdict = this.#verdict(failure);
    if (!this.#turns.isStopping || verdict.error === undefined) return verdict;
    return { stop_reason: "interrupted", error: stoppedTurn };
  }

  get #candidate(): Candidate {
    return this.#session.candidates[this.#index]!;
  }

  /** Whether the adapter can go on with its agent's own session. */
  #canContinue(candidate: Candidate): boolean {
    return this.#agentSession?.candidate === candidate && accepts(candidate.plugin.manifest, "continue_from");
  }

  /** Returns the request that enters the adapter for the turn under way. */
  #requestOf(candidate: Candidate): SessionRequest {
    const turn = this.#turns.current;
    if (turn === null || turn.number === this.#session.firstTurn && this.#session.request.prompt !== "") {
      return candidate.request;
    }
    const remembers = this.#canContinue(candidate);
    return candidate.furtherRequest({
      ...turn,
      agentSession: remembers ? this.#agentSession!.id : null,
      earlier: remembers ? [] : this.#earlier,
    });
  }

  /** Tries the candidates until an attempt's outcome is final; returns the error it failed with, or null. */
  async #tryAll(before: Promise<void>): Promise<ErrorData | null> {
    const { candidates } = this.#session;
    let turn = this.#turns.current;
    let tries = 0;
    let waited = 0;
    for (;;) {
      const candidate = this.#candidate;
      const number = ++this.#tries;
      const failure = await this.#try(candidate, { number, before, waited });
      if (this.#turns.current === null) return failure;
      const isNew = this.#turns.current !== turn;
      turn = this.#turns.current;
      if (turn.by === "agent") return failure;
      // The process that was kept could not serve it: the adapter has returned without a word.
      if (isNew && failure === null && this.#allowance.events === 0 && !this.#stopped) continue;
      tries = isNew ? 1 : tries + 1;
      const error = this.#turnVerdict(failure).error;
      if (this.#stopped || this.#turns.isStopping || error === undefined) return failure;
      const next = this.#isFirst ? nextCandidate(candidates, this.#index, failureClass(error)) : null;
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
        this.#index = next.index;
        if (next.through === "adapter") tries = 0;
        this.#substitute(candidate, this.#candidate, error);
      }
      const ended = await this.#pause(waited);
      if (ended !== null) return ended;
    }
  }

  /** Keeps the data of an agent that has done its work; returns why it does not count. */
  async #checkOutput({ plugin }: Candidate): Promise<ErrorData | null> {
    const { outputSchema: schema = plugin.manifest.output_schema } = this.#turns.current!;
    const { data, error = null } = await structuredOutput(this.#rules, { schema, limits: plugin.limits });
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
      retry: lastWord?.type === "completed" || !this.#isRepeatable ? "never" : this.#session.request.retry ?? "safe",
    });
  }

  /** Whether the turn under way is the session's own. */
  get #isFirst(): boolean {
    return this.#turns.current?.number === this.#session.firstTurn;
  }

  /** A further turn is tried again only where the agent remembers those before. */
  get #isRepeatable(): boolean {
    return this.#isFirst || this.#canContinue(this.#candidate);
  }

  /** Runs one attempt and records its end; returns the error it failed with. */
  async #try(
    candidate: Candidate,
    { number, before, waited }: { number: number; before: Promise<void>; waited: number },
  ): Promise<ErrorData | null> {
    const { plugin } = candidate;
    if (number > 1) {
      this.#rules.begin(++this.#stretches);
      this.#stream.begin(number, { id: plugin.id, version: plugin.manifest.version });
    }
    const attempt = new Attempt(this.#attemptDeps, { number, candidate, request: this.#requestOf(candidate) });
    this.#attempt = attempt;
    this.#usage.begin(accessOf(candidate));
    const held = await waitForLimit(candidate, this.#attemptDeps);
    const ended = await attempt.run(before);
    const failure = ended ?? (this.#turns.current === null ? null : await this.#checkOutput(candidate));
    if (attempt.uses) addUses(this.#uses, attempt.uses);
    const { error } = this.#turns.current === null ? { error: undefined } : this.#turnVerdict(failure);
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
    const { lastWord } = this.#rules;
    const { totalMs } = this.#deadlines;
    return effectiveSettings(candidate, { totalMs, answerTimeoutMs, workspace, outputSchema, lastWord });
  }

  #verdict(failure: ErrorData | null): Verdict {
    // If the attempt was already being cut off, that stays the reason: a later stop does not replace it.
    const cutFirst = failure !== null && failure === this.#attempt?.cutBy && failure !== this.#stopped?.error;
    const stopped = cutFirst ? null : this.#stopped;
    const { lastWord, refusedEnd } = this.#rules;
    const verdict = reachVerdict({ stopped, failure, lastWord, refusedEnd });
    if (verdict.error) {
      const error = this.#inTheWay ? withWork(verdict.error, this.#inTheWay) : verdict.error;
      const { plugin, request } = this.#attempt!.candidate;
      const continues = request.continue_from !== undefined;
      return { ...verdict, error: withSettingsHint(error, { hint: settingsHint(plugin), continues }) };
    }
    const { loopSignal } = this.#session;
    if (verdict.stop_reason !== "end_turn" || loopSignal === null) return verdict;
    const sent = [this.#attempt!.request.prompt, this.#session.request.prompt];
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
    // Its base is that of the session: earlier turns would be lost.
    if (place.reset === null || !this.#isFirst) return work;
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
    const { cost, tokens, turns } = this.#usage.all;
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
    const attempt = this.#attempt;
    const candidate = attempt?.candidate ?? this.#candidate;
    const result = this.#stream.redacted(buildResult({
      ...this.#session,
      hostVersion,
      plugin: candidate.plugin,
      sentPrompt: candidate.request.prompt,
      effective: this.#effective(candidate),
    }, {
      verdict: this.#ended ?? this.#verdict(failure),
      turns: this.#reports,
      rules: this.#rules,
      structured: this.#structured,
      usage: this.#usage.all.report(Math.round(performance.now() - this.#started)),
      changed,
      left,
      git,
      sharedWith,
      gitBase: this.#changes.head,
      packageSha256: attempt?.script?.sha256 ?? null,
      toolVersion: attempt?.toolVersion ?? null,
      claimedOnly: await unmetClaims(this.#rules.claimedPaths, { ...changed, workdir: this.#session.place.workdir }),
      uses: this.#uses,
      attempts: this.#attempts,
      substitutions: this.#substitutions,
    }));
    await this.#stream.end(result, (late) => this.#deps.keepEnd(late));
    return result;
  }
}

/** Why the host stopped a session, or a turn of it. */
interface Stop {
  reason: StopReason;
  error: ErrorData;
  ofTurn: boolean;
}

/** Reasons that end a turn, and a session only with it. */
const turnReasons: ReadonlySet<StopReason> = new Set(["timeout", "permission_deadline", "question_deadline"]);

const stoppedTurn: ErrorData = { code: "interrupted", message: "The turn was stopped." };

/** Characters of a turn's answer in the result. */
const reportedText = 4096;

/** Most turns that an agent begins by itself in one session. */
const mostOwnTurns = 100;

/** How a candidate reaches its agent. A program may have a model of its own in its settings: unknown until it says so. */
function accessOf({ plugin, accessMode, hasOwnGateway, request: { model } }: Candidate): AgentAccess {
  return { mode: hasOwnGateway === true ? null : accessMode, model: model ?? (runsAgents(plugin) ? null : undefined) };
}
