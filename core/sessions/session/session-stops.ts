import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { Attempt } from "./attempt.ts";
import { canTalk } from "./enforceable.ts";
import type { SessionTurns } from "./session-turns.ts";

/** Why the host stopped a session, or a turn of it. */
interface Stop {
  reason: StopReason;
  error: ErrorData;
  ofTurn: boolean;
}

/** Reasons that end a turn, and a session only with it. */
const turnReasons: ReadonlySet<StopReason> = new Set(["timeout", "permission_deadline", "question_deadline"]);

/** The error of a turn that a client stopped. */
export const stoppedTurn: ErrorData = { code: "interrupted", message: "The turn was stopped." };

/** Stops one session, or the turn under way. The first reason is kept. */
export class SessionStops {
  readonly #turns: Pick<SessionTurns, "current" | "isTold" | "end">;
  #attempt: Attempt | null = null;
  #stopped: Stop | null = null;
  /** Why the session ends with the work under way. */
  #noted: Stop | null = null;
  #abort = new AbortController();
  /** Error of a stopped turn with which the session was stopped as well, for a reason of its own. */
  replaced: ErrorData | null = null;

  constructor(turns: Pick<SessionTurns, "current" | "isTold" | "end">) {
    this.#turns = turns;
  }

  /** Returns why the host stopped it; null if it did not. */
  get stopped(): Stop | null {
    return this.#noted ?? this.#stopped;
  }

  /** Aborts what the turn under way waits for. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the session ends, and not a turn alone. */
  get endsSession(): boolean {
    return this.stopped?.ofTurn === false;
  }

  /** Names the attempt that is cut off with a stop. */
  watch(attempt: Attempt): void {
    this.#attempt = attempt;
  }

  /** A reason of the turn ends the session as well, unless it may go on with another one. */
  stop(reason: StopReason, error: ErrorData, { isAsked = false }: { isAsked?: boolean } = {}): void {
    const ofTurn = isAsked || (turnReasons.has(reason) && this.#turns.isTold && this.#turns.current !== null);
    if (this.#stopped !== null && (ofTurn || !this.#stopped.ofTurn)) return;
    this.replaced = this.#stopped?.error ?? null;
    this.#stopped = this.#noted ?? { reason, error, ofTurn };
    this.#abort.abort(this.#stopped.error);
    this.#attempt?.cut(this.#stopped.error);
    if (!ofTurn && this.#turns.current === null) this.#turns.end();
  }

  /** Ends the session for this reason once the agent has ended its turn: it is told by other ways that it must. */
  endAfterTurn(reason: StopReason, error: ErrorData): void {
    if (this.endsSession) return;
    this.#noted = { reason, error, ofTurn: false };
    if (this.#turns.current === null) this.#turns.end();
  }

  /** A client stops the turn: the agent is asked to go on with the next one, where it can. */
  stopTurn(): void {
    const turn = this.#turns.current;
    if (turn === null) return;
    const cut = () => {
      if (this.#turns.current === turn) this.stop("interrupted", stoppedTurn, { isAsked: true });
    };
    const plugin = this.#attempt?.candidate.plugin;
    if (plugin === undefined || !canTalk(plugin.manifest, "stop_turn")) return cut();
    startBackgroundTimer(cut, plugin.limits.agent_grace_ms);
  }

  /** Forgets the stop of a turn that is over. */
  beginTurn(): void {
    if (this.#stopped?.ofTurn !== true) return;
    this.#stopped = null;
    this.#abort = new AbortController();
  }
}
