import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { hasPrompt, type SessionRequest } from "../../../plugin-sdk/request.ts";
import type { AttemptReport, PermissionUses, Substitution } from "../../../plugin-sdk/result.ts";
import { saysComplete } from "../../ground/prompt/loop-signal.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { runsAgents } from "../../packages/permissions/contained-programs.ts";
import { addUses } from "../../walls/broker/add-uses.ts";
import { settingsHint } from "../routing/agent-report.ts";
import type { Admitted, AttemptDeps, Candidate, EarlierTurn } from "./admitted.ts";
import { Attempt } from "./attempt.ts";
import { type Deadlines, waitForLimit } from "./deadlines.ts";
import { accepts } from "./enforceable.ts";
import type { EventAllowance, EventRules } from "./event-rules.ts";
import type { AgentAccess } from "./spend/priced-usage.ts";
import {
  type FailedAttempt,
  failureClass,
  lacksSession,
  nextCandidate,
  type NextStep,
  nextStep,
} from "./retry-policy.ts";
import type { SessionChanges } from "./session-changes.ts";
import { type SessionStops, stoppedTurn } from "./session-stops.ts";
import type { SessionStream } from "./session-stream.ts";
import { structuredOutput } from "./structured-output.ts";
import type { SessionTurns } from "./session-turns.ts";
import type { SessionUsage } from "./spend/usage-meter.ts";
import { reachVerdict, type Verdict, withSettingsHint, withWork, type WorkDone } from "./verdict.ts";

interface EntriesDeps {
  session: Admitted;
  stream: SessionStream;
  rules: EventRules;
  usage: SessionUsage;
  turns: SessionTurns;
  deadlines: Deadlines;
  changes: SessionChanges;
  allowance: EventAllowance;
  stops: SessionStops;
  /** Collaborators that the attempts share. */
  attempt: AttemptDeps;
  /** The turns that are over. */
  earlier: readonly EarlierTurn[];
  takeOverGit(): Promise<unknown>;
}

/** The entries of one session into its adapters: attempts, retries and fallbacks of the turn under way. */
export class Entries {
  readonly #deps: EntriesDeps;
  readonly attempts: AttemptReport[] = [];
  readonly substitutions: Substitution[] = [];
  readonly uses: PermissionUses = { allowed: 0, denied: 0, by: {} };
  /** The attempt under way, or the last one. */
  attempt: Attempt | null = null;
  /** Position of the candidate that serves the session. */
  #index = 0;
  /** Number of attempts so far. */
  #tries = 0;
  /** Counts attempts and turns: ids of one do not meet those of another. */
  #stretches = 1;
  /** The agent's own session, on the candidate that named it. */
  #agentSession: { candidate: Candidate; id: string } | null = null;
  /** Candidates whose agents turned out not to go on with their sessions. */
  readonly #forgetful = new Set<Candidate>();
  /** Requests with a briefing for those that turned out not to have the session that they were to go on with, or to copy. */
  readonly #briefed = new Map<Candidate, SessionRequest>();
  /** Why the last attempt that failed did. */
  #setback: string | null = null;
  /** Data of the agent that fits the output schema, if there is one. */
  #structured: unknown;
  /** Work of the agent that forbids another attempt. */
  #inTheWay: WorkDone | null = null;

  constructor(deps: EntriesDeps) {
    this.#deps = deps;
  }

  /** Returns why the last attempt that failed did. */
  get setback(): string | null {
    return this.#setback;
  }

  /** Returns data of the agent that fits the output schema, if there is one. */
  get structured(): unknown {
    return this.#structured;
  }

  /** Notes the agent's own session, but never the one that was to be copied: another conversation uses that. */
  named(id: string): void {
    const { continue_from, fork } = this.attempt!.request;
    if (fork !== undefined && id === continue_from) return this.attempt!.cut(notCopied);
    this.#agentSession = { candidate: this.attempt!.candidate, id };
  }

  /** Begins to count, for a further turn. */
  beginTurn({ isKept }: { isKept: boolean }): void {
    this.#structured = undefined;
    this.#inTheWay = null;
    this.#setback = null;
    this.#deps.allowance.begin();
    this.#deps.rules.begin(++this.#stretches);
    this.#deps.usage.beginTurn(isKept ? accessOf(this.candidate) : null);
  }

  /** Returns the candidate that serves the session. */
  get candidate(): Candidate {
    return this.#deps.session.candidates[this.#index]!;
  }

  /** Whether the adapter can go on with its agent's own session. */
  canContinue(candidate: Candidate): boolean {
    return this.#agentSession?.candidate === candidate && !this.#forgetful.has(candidate) &&
      accepts(candidate.plugin.manifest, "continue_from");
  }

  /** Returns the request that enters the adapter for the turn under way. */
  #requestOf(candidate: Candidate): SessionRequest {
    const turn = this.#deps.turns.current;
    if (turn === null || turn.number === this.#deps.session.firstTurn && hasPrompt(this.#deps.session.request)) {
      return this.#briefed.get(candidate) ?? candidate.request;
    }
    const remembers = this.canContinue(candidate);
    return candidate.furtherRequest({
      ...turn,
      agentSession: remembers ? this.#agentSession!.id : null,
      earlier: remembers ? [] : this.#deps.earlier,
    });
  }

  /** Tries the candidates until an attempt's outcome is final; returns the error it failed with, or null. */
  async tryAll(before: Promise<void>): Promise<ErrorData | null> {
    const { candidates } = this.#deps.session;
    let turn = this.#deps.turns.current;
    let tries = 0;
    let waited = 0;
    for (;;) {
      const candidate = this.candidate;
      const number = ++this.#tries;
      const failure = await this.#try(candidate, { number, before, waited });
      if (this.#deps.turns.current === null) return failure;
      const isNew = this.#deps.turns.current !== turn;
      turn = this.#deps.turns.current;
      if (turn.by === "agent") return failure;
      // The process that was kept could not serve it: the adapter has returned without a word.
      if (isNew && failure === null && this.#deps.allowance.events === 0 && !this.#deps.stops.stopped) continue;
      tries = isNew ? 1 : tries + 1;
      const error = this.verdict(failure).error;
      if (this.#deps.stops.stopped || this.#deps.turns.isStopping || error === undefined) return failure;
      const next = this.#isFirst ? nextCandidate(candidates, this.#index, failureClass(error)) : null;
      const step: NextStep = await this.#briefs(candidate, error)
        ? { act: "retry", wait_ms: 0 }
        : this.#stepAfter(failure, { error, tries, next: next?.through ?? null });
      const done = step.act === "give_up" ? null : await this.#workInTheWay();
      const gives = step.act === "give_up" || done !== null;
      const { aborted } = this.#deps.stops.signal;
      this.#setback = error.message;
      this.#deps.stream.host({
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
        this.#substitute(candidate, this.candidate, error);
      }
      const ended = await this.#pause(waited);
      if (ended !== null) return ended;
    }
  }

  /** Keeps the data of an agent that has done its work; returns why it does not count. */
  async checkOutput({ plugin }: Candidate): Promise<ErrorData | null> {
    const { outputSchema: schema = plugin.manifest.output_schema } = this.#deps.turns.current!;
    const { data, error = null } = await structuredOutput(this.#deps.rules, { schema, limits: plugin.limits });
    this.#structured = data;
    return error;
  }

  /** Decides what follows an attempt that has failed. */
  #stepAfter(failure: ErrorData | null, failed: Pick<FailedAttempt, "error" | "tries" | "next">): NextStep {
    const { lastWord } = this.#deps.rules;
    return nextStep({
      ...failed,
      waitMs: this.attempt!.waitMs,
      hopeless: failure === null && lastWord?.type === "error" && !lastWord.recoverable,
      timeLeftMs: this.#deps.deadlines.leftMs,
      // Do not retry an agent that reported completion because its worker failed afterwards.
      retry: lastWord?.type === "completed" || !this.#isRepeatable
        ? "never"
        : this.#deps.session.request.retry ?? "safe",
    });
  }

  /** Prepares a briefing for an agent that has turned out not to have the session that it was to go on with, or to copy. */
  async #briefs(candidate: Candidate, error: ErrorData): Promise<boolean> {
    const forgets = lacksSession(error, "continue_from");
    if (!forgets && !lacksSession(error, "fork")) return false;
    const couldContinue = this.canContinue(candidate);
    if (forgets) this.#forgetful.add(candidate);
    if (!this.#isFirst) return forgets && couldContinue;
    if (candidate.briefedRequest === null || this.#briefed.has(candidate)) return false;
    const briefed = await candidate.briefedRequest().catch(() => null);
    if (briefed !== null) this.#briefed.set(candidate, briefed);
    return briefed !== null;
  }

  /** Whether the turn under way is the session's own. */
  get #isFirst(): boolean {
    return this.#deps.turns.current?.number === this.#deps.session.firstTurn;
  }

  /** A further turn is tried again only where the agent remembers those before. */
  get #isRepeatable(): boolean {
    return this.#isFirst || this.canContinue(this.candidate);
  }

  /** Runs one attempt and records its end; returns the error it failed with. */
  async #try(
    candidate: Candidate,
    { number, before, waited }: { number: number; before: Promise<void>; waited: number },
  ): Promise<ErrorData | null> {
    const { plugin } = candidate;
    if (number > 1) {
      this.#deps.rules.begin(++this.#stretches);
      this.#deps.stream.begin(number, { id: plugin.id, version: plugin.manifest.version });
    }
    const attempt = new Attempt(this.#deps.attempt, { number, candidate, request: this.#requestOf(candidate) });
    this.attempt = attempt;
    this.#deps.stops.watch(attempt);
    this.#deps.usage.begin(accessOf(candidate));
    const held = await waitForLimit(candidate, this.#deps.attempt);
    const ended = await attempt.run(before);
    const failure = ended ?? (this.#deps.turns.current === null ? null : await this.checkOutput(candidate));
    if (attempt.uses) addUses(this.uses, attempt.uses);
    const { error } = this.#deps.turns.current === null ? { error: undefined } : this.verdict(failure);
    candidate.ended({ tokens: this.#deps.usage.attemptTokens, error, wait_ms: attempt.waitMs });
    this.attempts.push({
      attempt: number,
      adapter_id: plugin.id,
      started_at: attempt.startedAt,
      duration_ms: attempt.durationMs,
      ...omitUndefined({ waited_ms: waited + held || undefined, error }),
    });
    // Each attempt must keep the rules of the stream by itself; the last attempt's end is also the session's.
    this.#deps.stream.add(this.#deps.rules.finish()).catch(() => {});
    return failure;
  }

  #spoken(failure: ErrorData | null): Verdict {
    // If the attempt was already being cut off, that stays the reason: a later stop does not replace it.
    const { stops } = this.#deps;
    const isOwnCut = failure !== null && failure === this.attempt?.cutBy && failure !== stops.replaced;
    const stopped = isOwnCut && failure !== stops.stopped?.error ? null : stops.stopped;
    const { lastWord, refusedEnd } = this.#deps.rules;
    const verdict = reachVerdict({ stopped, failure, lastWord, refusedEnd });
    if (verdict.error) {
      const error = this.#inTheWay ? withWork(verdict.error, this.#inTheWay) : verdict.error;
      const { plugin, request } = this.attempt!.candidate;
      const continues = request.continue_from !== undefined;
      return { ...verdict, error: withSettingsHint(error, { hint: settingsHint(plugin), continues }) };
    }
    const { loopSignal } = this.#deps.session;
    if (verdict.stop_reason !== "end_turn" || loopSignal === null) return verdict;
    const sent = [this.attempt!.request.prompt, this.#deps.session.request.prompt];
    const text = this.finalText;
    return saysComplete(text, { signal: loopSignal, sent }) ? { ...verdict, stop_reason: "loop_complete" } : verdict;
  }

  /** Returns the agent's answer in the turn under way, or in the last one. */
  get finalText(): string {
    const { lastWord, text } = this.#deps.rules;
    return (lastWord?.type === "completed" ? lastWord.output : undefined) ?? text;
  }

  #substitute(from: Candidate, to: Candidate, error: ErrorData): void {
    const named = ({ plugin, accessMode }: Candidate) =>
      from.plugin.id === to.plugin.id && accessMode !== null ? `${plugin.id} (${accessMode.type})` : plugin.id;
    this.replace({ from: named(from), to: named(to), reason: error.message });
  }

  /** Tells that another adapter takes over. */
  replace(substitution: Substitution): void {
    this.substitutions.push(substitution);
    this.#deps.stream.host({ type: "fallback", ...substitution });
  }

  /** Waits before the next attempt; returns why the session was ended meanwhile, or null. */
  async #pause(ms: number): Promise<ErrorData | null> {
    if (ms > 0) await wait(ms, this.#deps.stops.signal);
    return this.#deps.stops.stopped?.error ?? null;
  }

  /** Returns the agent's work that another attempt would repeat. Null when a retry is safe. */
  async #workInTheWay(): Promise<WorkDone | null> {
    const { request, place } = this.#deps.session;
    if (request.retry === "always") return null;
    const work = {
      tool_calls: this.#deps.rules.toolCalls,
      changed: await this.#deps.changes.now() ?? this.#deps.rules.claimedPaths,
    };
    if (work.tool_calls === 0 && work.changed.length === 0) return null;
    // Its base is that of the session: earlier turns would be lost.
    if (place.reset === null || !this.#isFirst) return work;
    await this.#deps.takeOverGit();
    const reset = await place.reset().then(() => true, () => false);
    if (reset) this.#deps.rules.forgetClaims();
    return reset ? null : work;
  }

  /** A turn that a client stopped is no failure, unless its agent had done it already. */
  verdict(failure: ErrorData | null): Verdict {
    const verdict = this.#spoken(failure);
    const { turns, stops } = this.#deps;
    if (!turns.isStopping || stops.endsSession || verdict.error === undefined) return verdict;
    return { stop_reason: "interrupted", error: stoppedTurn };
  }
}

const notCopied: ErrorData = {
  code: "unsupported",
  message: "Cannot fork the session: the agent goes on with the one that it was to copy.",
  details: { fields: ["fork"] },
};

/** How a candidate reaches its agent. A program may have a model of its own in its settings: unknown until it says so. */
function accessOf({ plugin, accessMode, hasOwnGateway, request: { model } }: Candidate): AgentAccess {
  return { mode: hasOwnGateway === true ? null : accessMode, model: model ?? (runsAgents(plugin) ? null : undefined) };
}
