import type { GitEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { EffectiveSettings, SessionResult, StopReason, TurnReport } from "../../../plugin-sdk/result.ts";
import { outcomeOf } from "../../../plugin-sdk/result.ts";
import type { ListedFacts, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { hostVersion } from "../../ground/config/version.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import type { Admitted, AttemptDeps, Candidate, EarlierTurn, RunningSessionDeps } from "./admitted.ts";
import type { Attempt } from "./attempt.ts";
import { Deadlines, outOfTime } from "./deadlines.ts";
import { effectiveSettings } from "./effective-settings.ts";
import { Entries } from "./entries.ts";
import { EventAllowance, EventRules } from "./event-rules.ts";
import { firstTurnOf, totalMsOf } from "./first-turn.ts";
import { OpenRequests } from "./open-requests.ts";
import { buildResult, startedEvent } from "./result.ts";
import { SessionBudget } from "./spend/session-budget.ts";
import { SessionChanges } from "./session-changes.ts";
import { SessionGit } from "./session-git.ts";
import { SessionStops } from "./session-stops.ts";
import { SessionStream } from "./session-stream.ts";
import { type LiveTalk, SessionTurns, type TurnFacts, type TurnPrompt } from "./session-turns.ts";
import { unmetClaims } from "./unmet-claims.ts";
import { SessionUsage } from "./spend/usage-meter.ts";
import { codeOfStop, type Verdict } from "./verdict.ts";

/** One session from its first event to its last. It ends exactly once, with a result, whatever adapters do. */
export class RunningSession {
  /** Rejects only when its end cannot be written. */
  readonly result: Promise<SessionResult>;
  /** Its turns and messages. */
  readonly talk: LiveTalk;
  /** Its files. */
  readonly changes: SessionChanges;
  readonly #session: Admitted;
  readonly #deps: RunningSessionDeps;
  readonly #attemptDeps: AttemptDeps;
  readonly #stream: SessionStream;
  readonly #rules = new EventRules();
  readonly #requests: OpenRequests;
  readonly #usage = new SessionUsage();
  readonly #budget: SessionBudget;
  readonly #turns: SessionTurns;
  readonly #stops: SessionStops;
  readonly #entries: Entries;
  readonly #deadlines: Deadlines;
  readonly #git: SessionGit;
  readonly #started = performance.now();
  readonly #allowance = new EventAllowance();
  /** How the last turn ended; null while one is under way. */
  #ended: Verdict | null = null;
  readonly #reports: TurnReport[] = [];
  readonly #earlier: EarlierTurn[] = [];
  #turnStarted = performance.now();
  /** True while the turn of a message is on its way to the adapter: the agent begins none by itself then. */
  #isBeginning = false;
  /** SessionTurns that the agent began by itself. */
  #ownTurns = 0;
  /** True once the last attempt has ended: later events no longer change how the session ended. */
  #isDecided = false;
  /** True once the session's scratch folder may hold files. */
  #usesScratch = false;
  constructor(session: Admitted, deps: RunningSessionDeps) {
    this.#session = session;
    this.#deps = deps;
    const { sessionId, request, place, redactor, candidates: [{ plugin }] } = session;
    const { log, scratchDir, gitDir, stateDir } = deps;
    this.changes = new SessionChanges(session, { ...deps, tell: (one) => this.#stream.host(one) }, this.#rules.signs);
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
      // Unrecorded work counts as not done.
      onFailure: (error) => this.#stops.stop("fatal", toErrorData(error)),
    });
    this.#requests = new OpenRequests({ rules: this.#rules, stream: this.#stream });
    this.#deadlines = new Deadlines({
      totalMs: totalMsOf(session),
      onTotal: (ms) => this.stop("timeout", outOfTime(ms, this.#entries.attempt?.limit ?? null, this.#entries.setback)),
      waits: () => this.#requests.waits,
      // The client that named an end gets it by the clock.
      waitedMs: () => request.timeout_ms === undefined ? this.#requests.waitedMs : 0,
    });
    this.talk = this.#turns = new SessionTurns({
      sessionId,
      stream: this.#stream,
      keepMs: session.keepMs,
      maxTextBytes: plugin.limits.prompt_bytes,
      first: firstTurnOf(session),
      onStop: () => this.#stops.stopTurn(),
    });
    this.#stops = new SessionStops(this.#turns);
    const stops = this.#stops;
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
        return stops.signal;
      },
      nextTurn: (seen, isOver) => this.#nextTurn(seen, isOver),
      turnBegan: (messageIds) => this.#turnBegan(messageIds),
      onLastWord: () => this.#onLastWord(),
      onAgentSession: (id) => this.#entries.named(id),
      processes: { lastId: 0 },
      stop: (reason, error) => this.#stops.stop(reason, error),
      onUsed: () => this.#budget.hold(),
      onModelCall: (call) => this.#budget.called(call),
      spent: (isRead) => this.#budget.spent(isRead),
      onScratch: () => void (this.#usesScratch = true),
    };
    this.#budget = new SessionBudget(this.#attemptDeps, { stops, stop: (reason, why) => this.stop(reason, why) });
    this.#entries = new Entries({
      ...this.#attemptDeps,
      changes: this.changes,
      stops,
      attempt: this.#attemptDeps,
      earlier: this.#earlier,
      takeOverGit: () => this.#takeOverGit(),
    });
    this.result = this.#run();
  }

  /** Ends the session for a reason of the host. The first reason is kept; none counts once the agent has ended. */
  stop(reason: StopReason, message: string): void {
    if (!this.#isDecided) this.#stops.stop(reason, { code: codeOfStop(reason), message });
  }

  /** Returns true once its last event is written, or cannot be written. */
  get isOver(): boolean {
    return this.#stream.ended;
  }

  get waiting(): WaitingRequest[] {
    return this.#requests.waiting;
  }

  get facts(): ListedFacts {
    return this.#stream.pulse.facts(this.#usage.all.report(0));
  }

  /** Answers a permission request or question; false when it is not open or does not offer the choice. */
  answer(requestId: string, choice: string | null): boolean {
    return this.#requests.answer(requestId, choice);
  }

  async #run(): Promise<SessionResult> {
    const { candidates, replaced } = this.#session;
    const event = this.#stream.redacted(startedEvent(this.#session, this.#effective(candidates[0])));
    const begun = this.#stream.add([{ source: "host", event }]);
    for (const { adapter_id, reason } of replaced) {
      this.#entries.replace({ from: adapter_id, to: candidates[0].plugin.id, reason });
    }
    const failure = await this.#converse(begun);
    this.#isDecided = true;
    this.#deadlines.stop();
    const result = await this.#finish(failure);
    if (this.#usesScratch) await removeTree(this.#attemptDeps.scratch).catch(() => {});
    return result;
  }

  /** Takes turns until the session is to end; returns the error that the last one failed with, or null. */
  async #converse(begun: Promise<void>): Promise<ErrorData | null> {
    const { follows } = this.#session;
    // The next host would give the message again that a killed one had begun a session with, and not written.
    const before = this.changes.begin(this.#stops.signal).then(() => follows?.message && begun);
    Promise.allSettled([before, begun]);
    let failure: ErrorData | null = null;
    if (this.#session.beginsIdle) this.#ended = { stop_reason: "end_turn" };
    else {
      this.#turns.beginFirst();
      failure = await this.#entries.tryAll(before);
    }
    for (;;) {
      // An entry that was kept has ended its turns itself.
      if (this.#turns.current !== null) {
        if (!this.#turns.isTold || this.#stops.endsSession) this.#turns.end();
        if (!this.#turns.isTold) return failure;
        await this.#endTurn(failure, { isKept: false });
      } else await this.#takeOverGit();
      do {
        if (!await this.#turns.rest()) return this.changes.dropTurn() ?? failure;
      } while (await this.#beginTurn({ isKept: false }) === null);
      failure = await this.#entries.tryAll(Promise.resolve());
    }
  }

  /** Ends the turn under way of an entry, and rests with it until the next one; null when the entry gets no more. */
  async #nextTurn(seen: readonly string[], isOver: () => boolean): Promise<TurnPrompt | null> {
    const attempt = this.#entries.attempt!;
    this.#turns.unseen(seen);
    const failure = await this.#entries.checkOutput(attempt.candidate);
    // What the agent did with git comes over with the end of its program alone.
    if (await this.#git.hasMoved()) return null;
    const fails = this.#entries.verdict(failure).error !== undefined && !this.#turns.isStopping;
    if (isOver() || this.#stops.signal.aborted || fails || !this.#turns.goesOn) return null;
    await this.#endTurn(failure, { isKept: true });
    for (;;) {
      this.#isBeginning = false;
      if (!await this.#restKept(attempt, isOver)) return null;
      const turn = await this.#beginTurn({ isKept: true, isOver });
      if (turn !== null) return turn;
    }
  }

  /** Rests with the agent's program until a message waits; false when the entry gets no more. */
  async #restKept(attempt: Attempt, isOver: () => boolean): Promise<boolean> {
    const leave = this.#deps.keep({
      pluginId: attempt.candidate.plugin.id,
      end: () => this.#turns.end(),
      heldBytes: async () => attempt.programs === null ? 0 : await attempt.programs.heldBytes(),
    });
    try {
      const resting = this.#turns.rest();
      // The agent may have begun and ended a turn of its own while the one before it was looked at.
      if (this.#rules.lastWord !== null) this.#onLastWord();
      if (!await resting || isOver()) return false;
    } finally {
      this.#isBeginning = true;
      leave();
    }
    if (await this.#git.hasMoved()) return false;
    if (await this.#deps.termsChanged(attempt.candidate) || await attempt.programs?.guardsChanged()) {
      this.#turns.end(this.#deps.moveMessages(this.#turns.waiting()));
      return false;
    }
    return !isOver();
  }

  /** Ends the turn under way: how it ended is decided before anything is waited for. */
  async #endTurn(failure: ErrorData | null, { isKept }: { isKept: boolean }): Promise<void> {
    const { turn, facts } = this.#closeTurn(failure);
    if (!isKept) await this.#takeOverGit();
    const ranPrograms = this.#attemptDeps.processes.lastId > 0;
    const { left, kept, ...changed } = await this.changes.endTurn({ ranPrograms });
    if (left.held.length + left.install_scripts.length > 0) this.#stream.host({ type: "held", ...left });
    const why = changed.artifacts === null ? { artifacts_reason: changed.reason } : {};
    this.#turns.tell(turn, this.#stream.redacted({ ...facts, ...kept, artifacts: changed.artifacts, ...why }));
  }

  #closeTurn(
    failure: ErrorData | null,
    { agentGoesOn = false }: { agentGoesOn?: boolean } = {},
  ): { turn: TurnPrompt; facts: Omit<TurnFacts, "artifacts" | "artifacts_reason"> } {
    const { stop_reason, error } = this.#ended = this.#entries.verdict(failure);
    this.#deadlines.stop();
    this.#requests.closeAll();
    this.#stream.add(this.#rules.finish()).catch(() => {});
    const turn = this.#turns.close({ failed: error !== undefined, agentGoesOn });
    const facts = {
      outcome: outcomeOf(stop_reason),
      stop_reason,
      output: this.#entries.finalText,
      ...omitUndefined({ structured_output: error === undefined ? this.#entries.structured : undefined }),
      usage: this.#usage.turn(Math.round(performance.now() - this.#turnStarted)),
      checkpoint: null,
      ...omitUndefined({
        agent_ref: this.#rules.lastWord?.type === "completed" ? this.#rules.lastWord.agent_ref : undefined,
      }),
      ...omitUndefined({ error }),
    };
    this.#earlier.push({ prompt: turn.text, output: facts.output, files: this.#rules.claimedPaths });
    const { checkpoint: _tree, structured_output: _data, agent_ref: _name, ...report } = facts;
    this.#reports.push({ turn: turn.number, ...report, output: shortText(facts.output, reportedText) });
    return { turn, facts };
  }

  /** Begins the turn of the message that waits; null where it was taken back meanwhile, or the entry that was to have it is over. */
  async #beginTurn({ isKept, isOver }: { isKept: boolean; isOver?: () => boolean }): Promise<TurnPrompt | null> {
    this.#stops.beginTurn();
    await this.changes.beginTurn(this.#turns.nextNumber, this.#stops.signal);
    const isKnown = isKept || this.#entries.canContinue(this.#entries.candidate);
    if (isOver?.() === true) return null;
    const next = this.#turns.beginNext(isKnown ? "agent" : "briefing");
    // The entry may be lost while this is written: what follows looks at this turn then, and not at the one before.
    if (this.#turns.current !== null) this.#reset({ isKept });
    const turn = await next;
    if (turn === null) return this.changes.dropTurn();
    // Words of the agent before it gets the prompt are no part of this turn.
    if (isOver?.() !== true) this.#reset({ isKept });
    this.#isBeginning = false;
    return turn;
  }

  /** Begins to count, for a further turn. */
  #reset({ isKept }: { isKept: boolean }): void {
    this.#stream.add(this.#rules.finish()).catch(() => {});
    this.#ended = null;
    this.#turnStarted = performance.now();
    this.#entries.beginTurn({ isKept });
  }

  /** The agent goes on by itself, after its last word or between two turns: with steers that it had kept, or unasked. */
  #turnBegan(messageIds: readonly string[]): void {
    const isUnderWay = this.#turns.current !== null;
    if (this.#isBeginning || (isUnderWay && this.#rules.lastWord === null)) return;
    if (++this.#ownTurns > mostOwnTurns) {
      const message = `The agent began more than ${mostOwnTurns} turns by itself.`;
      return this.#stops.stop("fatal", { code: "limit_exceeded", message });
    }
    if (isUnderWay) {
      this.#turns.open();
      const { turn, facts } = this.#closeTurn(null, { agentGoesOn: true });
      this.#turns.tell(turn, this.#stream.redacted({ ...facts, artifacts: null, artifacts_reason: "agent_went_on" }));
    }
    this.changes.goOn(this.#turns.nextNumber, this.#stops.signal).catch(() => {});
    this.#reset({ isKept: true });
    this.#turns.beganByAgent(messageIds);
  }

  /** Ends a turn that the agent began between two others: nothing asks for the next one. */
  #onLastWord(): void {
    if (!this.#turns.isResting || this.#turns.current?.by !== "agent") return;
    this.#endTurn(null, { isKept: true }).catch((error: unknown) => this.#stops.stop("fatal", toErrorData(error)));
  }

  #effective(candidate: Candidate): EffectiveSettings {
    const workspace = this.#session.place.workspaceDir === undefined ? "inplace" : "worktree";
    const { answerTimeoutMs, request: { output_schema: outputSchema } } = this.#session;
    const [{ lastWord }, { totalMs }] = [this.#rules, this.#deadlines];
    return effectiveSettings(candidate, { totalMs, answerTimeoutMs, workspace, outputSchema, lastWord });
  }

  async #takeOverGit(): Promise<GitEvent | null> {
    const event = await this.#git.end();
    if (event !== null) this.#stream.host(event);
    return event;
  }

  async #finish(failure: ErrorData | null): Promise<SessionResult> {
    // First: commits that it takes over are no changes any more.
    const git = await this.#takeOverGit();
    const { left, kept, ...changed } = await this.changes.end({ ranPrograms: this.#attemptDeps.processes.lastId > 0 });
    const sharedWith = await this.#deps.sharedWith();
    if (this.#session.artifacts === "git") {
      const { artifacts } = changed;
      const more = artifacts === null ? { reason: changed.reason } : { omitted: changed.others.length || undefined };
      this.#stream.host({ type: "artifacts", artifacts, ...omitEmpty({ ...more, shared_with: sharedWith }) });
    }
    if (left.held.length + left.install_scripts.length > 0) this.#stream.host({ type: "held", ...left });
    const { attempt } = this.#entries;
    const candidate = attempt?.candidate ?? this.#entries.candidate;
    const usage = this.#usage.all.report(Math.round(performance.now() - this.#started));
    this.#budget.ended(usage, candidate);
    const result = this.#stream.redacted(buildResult({
      ...this.#session,
      hostVersion,
      plugin: candidate.plugin,
      sentPrompt: candidate.request.prompt,
      effective: this.#effective(candidate),
    }, {
      verdict: this.#ended ?? this.#entries.verdict(failure),
      turns: this.#reports,
      rules: this.#rules,
      structured: this.#entries.structured,
      usage,
      changed,
      left,
      kept,
      git,
      sharedWith,
      gitBase: this.changes.head,
      packageSha256: attempt?.script?.sha256 ?? null,
      toolVersion: attempt?.toolVersion ?? null,
      claimedOnly: await unmetClaims(this.#rules.claimedPaths, { ...changed, workdir: this.#session.place.workdir }),
      uses: this.#entries.uses,
      calls: await this.#session.box?.end({ turns: this.#reports.length, tree: kept?.checkpoint ?? null }),
      attempts: this.#entries.attempts,
      substitutions: this.#entries.substitutions,
    }));
    await this.#stream.end(result, (late) => this.#deps.keepEnd(late));
    return result;
  }
}

/** Characters of a turn's answer in the result. */
const reportedText = 4096;
/** Most turns that an agent begins by itself in one session. */
const mostOwnTurns = 100;
