import type { ModelCallEvent } from "../../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import type { StopReason, UsageReport } from "../../../../plugin-sdk/result.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import type { MeteredCall } from "../../../walls/agent/meter/meter.ts";
import type { AttemptDeps, Candidate } from "../admitted.ts";
import { exceededBudget, spentBudget, type Used } from "../effective-settings.ts";
import type { SessionStops } from "../session-stops.ts";
import { codeOfStop } from "../verdict.ts";
import { isBudgeted } from "./seen-calls.ts";
import { untold } from "./priced-usage.ts";
import { callEvent, chargeOf } from "./wire-meter.ts";

interface EndDeps {
  stops: Pick<SessionStops, "endAfterTurn">;
  /** Ends the session at once. */
  stop(reason: StopReason, message: string): void;
}

/** Events of calls in one session: an agent that calls its model without end fills no journal. */
const mostCallEvents = 10_000;

/** Time for an agent to end its work after a call was refused. Milliseconds. */
const endMs = 30_000;

/**
 * Holds one session to its budget. Where the host sees the calls of the agent's model, none begins after the budget is
 * spent, and the agent ends by itself with all that it has done; else the session ends once the agent reports too much.
 */
export class SessionBudget {
  readonly #deps: Pick<AttemptDeps, "session" | "usage" | "rules" | "stream"> & EndDeps;
  #events = 0;
  #hasRefused = false;

  constructor(shared: Pick<AttemptDeps, "session" | "usage" | "rules" | "stream">, ends: EndDeps) {
    const { session, usage, rules, stream } = shared;
    this.#deps = { session, usage, rules, stream, ...ends };
  }

  /** Counts a call of the model that the host saw. */
  called(call: MeteredCall): void {
    const { session: { account }, usage, stream } = this.#deps;
    usage.called(call);
    account?.charge(chargeOf(call, usage.all.access));
    if (this.#events++ < mostCallEvents) stream.host(callEvent(call, usage.all.access));
    this.hold();
  }

  /** Counts what the session used in the end. */
  ended(usage: UsageReport, candidate: Pick<Candidate, "writeLog">): void {
    tellDifference(usage, candidate);
    this.#deps.session.account?.settle(usage);
  }

  /** Use that counts in the session's own budget: its own, and that of others that share the budget. */
  get #used(): Used {
    const { session: { share }, usage, rules } = this.#deps;
    const { cost, tokens, turns } = usage.all;
    const counts = { turns, tool_calls: rules.toolCalls };
    if (share === null) return { cost, tokens, ...counts };
    share.count({ cost, tokens });
    const others = share.others();
    return { cost: (cost ?? 0) + others.cost, tokens: (tokens ?? 0) + others.tokens, ...counts };
  }

  /** Looks whether the budget is passed. */
  hold(): void {
    const { session: { request }, usage, stops, stop } = this.#deps;
    if (request.budget === undefined && request.max_turns === undefined) return;
    const exceeded = exceededBudget(this.#used, request);
    if (exceeded === null) return;
    const { reason, message } = exceeded;
    const isHeld = usage.all.isHeld && (reason === "budget_cost" || reason === "budget_tokens");
    if (isHeld) stops.endAfterTurn(reason, { code: codeOfStop(reason), message });
    else stop(reason, message);
  }

  /** Returns why the agent's model is not to be called; null while it may be. @param isRead whether the call's figures are */
  spent(isRead: boolean): string | null {
    const { session, stops, stop } = this.#deps;
    const { request, account } = session;
    const own = spentBudget(this.#used, request);
    const shared = own === null ? account?.spent() ?? null : null;
    const spent = own ?? shared;
    if (spent === null) return isRead || !isBudgeted(session) ? null : unread;
    const { reason, message } = spent;
    if (!this.#hasRefused) {
      this.#hasRefused = true;
      this.#deps.stream.host({ ...refusedCall(reason), ...omitUndefined({ budget: shared?.name }) });
      const details = shared === null ? {} : { details: { budget: shared.name, until: shared.until } };
      stops.endAfterTurn(reason, { code: codeOfStop(reason), message, ...details });
      startBackgroundTimer(() => stop(reason, message), endMs);
    }
    return `${message} The host refused this call of the model. End your work now.`;
  }
}

const unread = "The host cannot read what such a call uses, and the session has a budget. The host refused this call.";

function refusedCall(refused: "budget_cost" | "budget_tokens"): ModelCallEvent {
  const { scope: _scope, basis: _basis, ...figures } = untold;
  return { type: "model_call", status: null, ...figures, refused };
}

/** Tells that an agent's own figures differ from those of the calls that the host saw. */
function tellDifference({ wire }: UsageReport, { writeLog }: Pick<Candidate, "writeLog">): void {
  if (wire?.reported_tokens === undefined) return;
  const seen = wire.tokens_in + wire.tokens_out;
  const message =
    `The agent reports ${wire.reported_tokens} tokens; the calls of its model that the host saw had ${seen}.`;
  writeLog({ level: "warn", message, fields: null });
}
