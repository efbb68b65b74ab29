import { expect, test } from "vitest";
import { exceededBudget, type Used } from "../../../core/sessions/session/effective-settings.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

const nothing: Used = { cost: null, tokens: null, turns: 0, tool_calls: 0 };
const asked: SessionRequest = { workdir: "/w", prompt: "p" };

test.each(
  [
    [{ cost: 1 }, { cost: 1.01 }, "budget_cost"],
    [{ cost: 1 }, { cost: 1 }, undefined],
    [{ cost: 0 }, { cost: 0.01 }, "budget_cost"],
    [{ cost: 1 }, { cost: null }, undefined],
    [{ tokens: 10 }, { tokens: 11 }, "budget_tokens"],
    [{ tokens: 10 }, { tokens: 10 }, undefined],
    [{ turns: 2 }, { turns: 3 }, "budget_turns"],
    [{ tool_calls: 0 }, { tool_calls: 1 }, "budget_tool_calls"],
  ] as const,
)("of the budget %j, %j is %s", (budget, used, reason) => {
  expect(exceededBudget({ ...nothing, ...used }, { ...asked, budget })?.reason).toBe(reason);
});

test("max_turns and a budget of turns are one ceiling, the lower one", () => {
  const request = { ...asked, max_turns: 3, budget: { turns: 5 } };
  expect(exceededBudget({ ...nothing, turns: 3 }, request)).toBeNull();
  expect(exceededBudget({ ...nothing, turns: 4 }, request)?.reason).toBe("budget_turns");
});

test("without a budget nothing is too much", () => {
  expect(exceededBudget({ cost: 1e9, tokens: 1e9, turns: 1e9, tool_calls: 1e9 }, asked)).toBeNull();
});
