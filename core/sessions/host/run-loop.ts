import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { Budget, SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult, StopReason, UsageReport } from "../../../plugin-sdk/result.ts";
import { knownUse } from "../session/spend/shared-budgets.ts";
import { roundMoney } from "../session/spend/priced-usage.ts";
import { derivedKey } from "./idempotency.ts";
import type { RunSessionOptions, SessionHandle } from "./session-host.ts";

/** Result of a loop of sessions. */
export interface LoopReport {
  /** The agent gave its signal of completion. */
  complete: boolean;
  /** Sessions that were run. */
  iterations: number;
  /** Why no further one was run: the last session's reason, or `max_iterations`. */
  stop_reason: StopReason | "max_iterations";
  /** Ids of the sessions, in their order. */
  session_ids: string[];
  /** Of all sessions together that told it; null while none has, and where they told several currencies. */
  cost: number | null;
  /** The currency of the cost; null where a plan covers it, and where there is none. */
  currency: string | null;
  /** Sessions whose cost is not known; `cost` leaves them out. */
  cost_unknown: number;
  /** As `cost`. */
  tokens: number | null;
}

/** Iterations of a loop whose request names no maximum. */
const defaultIterations = 25;

/**
 * Runs fresh sessions of one request, one after the other, until the agent gives its signal, a session does not
 * complete, the maximum is reached or the budget for all of them together is spent. Gives each session as it starts;
 * its result need not be waited for. After `next(true)` a session that did not complete is run again, as the same
 * iteration, within the same budget.
 * @throws {BulkheadError} what `runSession()` throws
 */
export async function* runLoop(
  host: { runSession(request: SessionRequest, options: RunSessionOptions): Promise<SessionHandle> },
  request: SessionRequest,
  options: RunSessionOptions,
): AsyncGenerator<SessionHandle, LoopReport, boolean | void> {
  const { iteration: first = 1, max_iterations = defaultIterations } = request;
  if (request.enhance === false) throw unenhanced();
  const report: LoopReport = {
    complete: false,
    iterations: 0,
    stop_reason: "max_iterations",
    session_ids: [],
    cost: null,
    currency: null,
    cost_unknown: 0,
    tokens: null,
  };
  const spent: Spent = { cost: 0, costs: new Map() };
  for (let iteration = first; iteration <= max_iterations; iteration++) {
    const over = spentBudget(request.budget, { report, spent });
    if (over !== null) return { ...report, stop_reason: over };
    let session: SessionHandle;
    try {
      session = await host.runSession(nextRequest(request, { iteration, max_iterations, report, spent }), options);
    } catch (error) {
      // An interrupt between two sessions keeps the report on the earlier ones.
      if (report.iterations === 0 || !options.signal?.aborted) throw error;
      return { ...report, stop_reason: "interrupted" };
    }
    report.session_ids.push(session.id);
    report.iterations++;
    const again = yield session;
    const result = await session.result();
    add(result, { report, spent });
    if (result.stop_reason === "loop_complete") return { ...report, complete: true, stop_reason: "loop_complete" };
    if (result.outcome === "completed") continue;
    if (again !== true) return { ...report, stop_reason: result.stop_reason };
    iteration--;
  }
  return report;
}

function unenhanced(): BulkheadError {
  return new BulkheadError("invalid_request", "A loop cannot end by itself without its prompt being enhanced.", {
    hint: "Leave out enhance: the agent must know the signal of completion.",
  });
}

function nextRequest(
  request: SessionRequest,
  { iteration, max_iterations, ...used }: { iteration: number; max_iterations: number } & Used,
): SessionRequest {
  const { budget, idempotency_key } = request;
  return {
    ...request,
    enhance: true,
    iteration,
    max_iterations,
    ...omitUndefined({
      budget: budget && leftOf(budget, usedOf(used)),
      idempotency_key: idempotency_key && derivedKey(idempotency_key, String(iteration)),
    }),
  };
}

/** Known cost of the sessions so far. */
interface Spent {
  /** In all currencies: a budget is a number without one. */
  cost: number;
  /** By currency; that of a plan, which costs nothing more, is null. */
  costs: Map<string | null, number>;
}

interface Used {
  report: LoopReport;
  spent: Spent;
}

/** Returns the rest of the budget for later sessions; turns and tool calls are counted for each session. */
export function leftOf(budget: Budget, used: { cost: number | null; tokens: number | null }): Budget {
  const left = (most: number | undefined, used: number | null) => most === undefined ? undefined : most - (used ?? 0);
  const [cost, tokens] = [left(budget.cost, used.cost), left(budget.tokens, used.tokens)];
  return { ...budget, ...omitUndefined({ cost, tokens }) };
}

function usedOf({ report: { tokens }, spent: { cost } }: Used): { cost: number; tokens: number | null } {
  return { cost, tokens };
}

function spentBudget(budget: Budget = {}, used: Used): "budget_cost" | "budget_tokens" | null {
  const left = leftOf(budget, usedOf(used));
  if (left.cost !== undefined && used.report.iterations > 0 && left.cost <= 0) return "budget_cost";
  return left.tokens !== undefined && left.tokens < 1 ? "budget_tokens" : null;
}

function add({ usage }: SessionResult, used: Used): void {
  const { report } = used;
  addCost(usage, used);
  const { tokens } = knownUse(usage);
  if (tokens !== null) report.tokens = (report.tokens ?? 0) + tokens;
}

function addCost({ cost, currency }: UsageReport, { report, spent }: Used): void {
  if (cost === null) return void report.cost_unknown++;
  spent.cost += cost;
  spent.costs.set(currency, roundMoney((spent.costs.get(currency) ?? 0) + cost));
  // Nothing is the same in every currency.
  const paid = [...spent.costs].filter(([, sum]) => sum > 0);
  const [[told, sum] = [currency, 0]] = paid;
  report.cost = paid.length > 1 ? null : sum;
  report.currency = paid.length > 1 ? null : told;
}
