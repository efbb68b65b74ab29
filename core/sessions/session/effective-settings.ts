import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { EffectiveSettings, StopReason } from "../../../plugin-sdk/result.ts";
import { idleMs } from "./attempt.ts";
import { accepts, reports } from "./enforceable.ts";
import type { CompletedEvent, ErrorEvent } from "../../../plugin-sdk/events.ts";
import { hasCeiling } from "./spend/shared-budgets.ts";
import type { Candidate } from "./admitted.ts";
import type { Budget, SessionRequest } from "../../../plugin-sdk/request.ts";

/** Returns the settings that a session on this candidate really runs with. */
export function effectiveSettings(
  candidate: Candidate,
  { totalMs, answerTimeoutMs, workspace, outputSchema, lastWord }: {
    totalMs: number;
    answerTimeoutMs: number;
    /** The schema that the client asked for. */
    outputSchema?: unknown;
    /** An adapter whose agent could not be held to this schema gives no data, but the agent's words. */
    lastWord?: CompletedEvent | ErrorEvent | null;
    workspace: EffectiveSettings["workspace"];
  },
): EffectiveSettings {
  const { request, plugin, accessMode, approval, unenforced, effective, seesCalls } = candidate;
  const budget = actingBudget(candidate);
  const wordsOnly = lastWord?.type === "completed" && lastWord.structured_output === undefined;
  const isHeld = accepts(plugin.manifest, "output_schema") && !wordsOnly;
  const held = <T>(field: string, value: T): T | null => (unenforced.includes(field) ? null : value);
  return {
    permissions: effective,
    model: accepts(plugin.manifest, "model") ? request.model ?? null : null,
    timeout_ms: totalMs,
    idle_timeout_ms: idleMs(candidate),
    answer_timeout_ms: answerTimeoutMs,
    allowed_tools: held("allowed_tools", request.allowed_tools ?? null),
    max_turns: held("max_turns", request.max_turns ?? null),
    approval: approval.approval,
    budget,
    ...(hasCeiling({ budget: budget ?? {} })
      ? { budget_basis: seesCalls && !unenforced.includes("budget.cost") ? "wire" as const : "reported" as const }
      : {}),
    workspace,
    access_mode: accessMode?.type ?? null,
    ...(outputSchema === undefined ? {} : { output_schema: isHeld ? "enforced" as const : "asked" as const }),
    ...omitUndefined({ effort: held("effort", request.effort) ?? undefined }),
    ...(held("plan", request.plan) === true ? { plan: true } : {}),
    unenforced,
  };
}

/** The budget that ends the session: what is enforced, and what the agent reports. */
function actingBudget({ request, unenforced, plugin: { manifest } }: Candidate): EffectiveSettings["budget"] {
  const isReported = reports(manifest, "tokens") || reports(manifest, "cost");
  const budget = Object.entries(effectiveBudget(request) ?? {}).filter(([key]) =>
    !unenforced.includes(`budget.${key}`) || isReported && (key === "cost" || key === "tokens")
  );
  return budget.length === 0 ? null : Object.fromEntries(budget);
}

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

/** A ceiling that leaves nothing. */
interface SpentBudget {
  reason: "budget_cost" | "budget_tokens";
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

/** Returns the budget of a request that is used up, so that no call of a model may begin; null where none is. */
export function spentBudget({ cost, tokens }: Used, { budget = {} }: SessionRequest): SpentBudget | null {
  const isSpent = (value: number | null, most: number | undefined) =>
    value !== null && most !== undefined && value >= most;
  if (isSpent(cost, budget.cost)) return { reason: "budget_cost", message: `The budget of ${budget.cost} is spent.` };
  if (isSpent(tokens, budget.tokens)) {
    return { reason: "budget_tokens", message: `The budget of ${budget.tokens} tokens is spent.` };
  }
  return null;
}

/** Returns the budget as the result shows it. */
function effectiveBudget({ budget }: SessionRequest): Budget | null {
  return budget === undefined || Object.keys(budget).length === 0 ? null : budget;
}
