import { beforeEach, describe, expect, test } from "vitest";
import type { BudgetSettings } from "../../../../core/ground/config/budget-settings.ts";
import { needsWall } from "../../../ground/platform/os-walls/needs-wall.ts";
import { dollarAnswer, pricedModes, recordedAgent } from "./recorded-agent.ts";

beforeEach(async (context) => await needsWall(context, "bubblewrap"));

/** An agent each of whose calls costs one dollar. */
async function opened(budgets: Record<string, BudgetSettings>, before?: Parameters<typeof recordedAgent>[0]) {
  const agent = await recordedAgent({ manifest: { budgets }, modes: pricedModes, ...before });
  agent.model.answer = () => ({ pieces: [dollarAnswer] });
  return agent;
}

const calls = (times: number) => "ask one; ".repeat(times);
const teamA = { labels: { team: "a" } };

describe("a budget of bulkhead.yaml", () => {
  test("refuses the call after it is spent, ends the session, and is known after a restart", async () => {
    const budgets: Record<string, BudgetSettings> = { "team-a": { labels: { team: "a" }, per: "day", cost: 3 } };
    const agent = await opened(budgets);
    const first = await agent.run(calls(2), teamA);
    expect(first).toMatchObject({ stop_reason: "end_turn", usage: { cost: 2 } });
    const second = await agent.run(calls(3), teamA);
    const { message } = second.error!;
    expect(second).toMatchObject({
      stop_reason: "budget_cost",
      error: { code: "budget_exceeded", details: { budget: "team-a" } },
    });
    expect(message).toBe('The budget "team-a" of 3 a day is spent.');
    expect(second.output).toContain("End your work now.");
    expect(agent.model.asked).toHaveLength(3);
    const other = await agent.run(calls(1));
    expect(other.stop_reason, "another label").toBe("end_turn");
    await agent.test.host.close();

    const next = await opened(budgets, { before: agent });
    expect(await next.test.host.sessions.budgets()).toMatchObject([{
      name: "team-a",
      spent_cost: 3,
      spent_tokens: 3000,
    }]);
    await expect(next.run(calls(1), teamA)).rejects.toMatchObject({
      code: "budget_exceeded",
      message: 'Cannot start a session: the budget "team-a" of 3 a day is spent.',
    });
    expect((await next.run(calls(1))).stop_reason).toBe("end_turn");
  });

  test("is refused as unenforceable where the host does not see the calls, or told", async () => {
    const agent = await opened({ all: { cost: 3 } });
    const blind = { env: { MODEL_URL: "" } };
    await expect(agent.run(calls(1), blind)).rejects.toMatchObject({
      code: "unenforceable",
      message: 'Adapter "agent" cannot be held to budgets.all: its calls do not pass the host.',
      details: { fields: ["record", "budgets.all"] },
    });
    const told = await agent.run("true", { ...blind, best_effort: true });
    expect(told.effective.unenforced).toEqual(["record", "budgets.all"]);
  });

  test("is refused as unenforceable in a cluster, and for a model without a price", async () => {
    const cluster = {
      servers: ["nats://127.0.0.1:1"],
      name: "c",
      prefix: "b",
      labels: {},
      shared_folders: [],
      replicas: 1,
      heartbeat_ms: 1000,
      silent_ms: 5000,
    };
    const far = await recordedAgent({ manifest: { budgets: { all: { tokens: 3 } }, cluster }, modes: pricedModes });
    await expect(far.run(calls(1), teamA)).rejects.toMatchObject({
      code: "unenforceable",
      message: "Cannot hold the session to budgets.all: in a cluster no machine knows what the others have spent.",
    });
    const free = await recordedAgent({
      manifest: { budgets: { all: { cost: 3 } } },
      modes: pricedModes.replace('"input_per_1k_tokens":1', '"input_per_1k_tokens":null'),
    });
    await expect(free.run(calls(1))).rejects.toMatchObject({
      code: "unenforceable",
      message: 'Adapter "agent" cannot hold its agent to budgets.all: its model has no known price.',
    });
  });
});
