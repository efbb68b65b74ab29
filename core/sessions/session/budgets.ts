import type { Budget, SessionRequest } from "../../../plugin-sdk/request.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";

/** Usage of a session so far; null while unknown. */
export interface Used {
  cost: number | null;
  tokens: number | null;
  turns: number;
  tool_calls: number;
}

/** A ceiling that the session passed. */
interface Exceeded {
  reason: StopReason;
  message: string;
}

/** Returns the first ceiling of a request that was passed, or null. Usage equal to the ceiling is still within it. */
export function exceededBudget(used: Used, { budget = {}, max_turns }: SessionRequest): Exceeded | null {
  const over = (value: number | null, most: number | undefined) => value !== null && most !== undefined && value > most;
  const turns = Math.min(budget.turns ?? Infinity, max_turns ?? Infinity);
  if (over(used.cost, budget.cost)) {
    return { reason: "budget_cost", message: `The session cost more than ${budget.cost}.` };
  }
  if (over(used.tokens, budget.tokens)) {
    return { reason: "budget_tokens", message: `The session used more than ${budget.tokens} tokens.` };
  }
  if (over(used.turns, turns)) return { reason: "budget_turns", message: `The session took more than ${turns} turns.` };
  if (over(used.tool_calls, budget.tool_calls)) {
    return { reason: "budget_tool_calls", message: `The session made more than ${budget.tool_calls} tool calls.` };
  }
  return null;
}

/** Returns the budget as the result shows it. */
export function effectiveBudget({ budget }: SessionRequest): Budget | null {
  return budget === undefined || Object.keys(budget).length === 0 ? null : budget;
}
