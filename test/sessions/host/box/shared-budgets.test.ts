import { beforeEach, describe, expect, test } from "vitest";
import type { NewMessage } from "../../../../plugin-sdk/conversation.ts";
import { needsWall } from "../../../ground/platform/os-walls/needs-wall.ts";
import { ask, dollarAnswer, key, pricedModes, type RecordedAgent, recordedAgent } from "./recorded-agent.ts";

beforeEach(async (context) => await needsWall(context, "bubblewrap"));

/** An agent each of whose calls costs one dollar. */
async function opened(options?: Parameters<typeof recordedAgent>[0]) {
  const agent = await recordedAgent({ modes: pricedModes, ...options });
  agent.model.answer = () => ({ pieces: [dollarAnswer] });
  return agent;
}

const calls = (times: number) => "ask one; sleep 0.05; ".repeat(times);

/** Says a script to a conversation, and returns the session that runs it. */
async function said({ test: { host }, url }: RecordedAgent, id: string, terms: {
  script: string;
  with?: NewMessage["with"];
}) {
  const content = [{ type: "text" as const, text: ask + terms.script }];
  const env = { MODEL_KEY: key, MODEL_URL: url };
  const { session_id } = await host.sessions.conversations.say(id, { content, with: { env, ...terms.with } });
  return await host.sessions.open(session_id);
}

/** A conversation whose first session has used two of its five dollars. */
async function begun(options?: Parameters<typeof recordedAgent>[0]) {
  const agent = await opened(options);
  const first = await agent.run(calls(2), { budget: { cost: 5 } });
  expect(first).toMatchObject({ stop_reason: "end_turn", usage: { cost: 2 } });
  const { host } = agent.test;
  const fork = async (of = first.session_id) => (await host.sessions.conversations.fork(of, {})).session_id;
  return { ...agent, first: first.session_id, fork };
}

describe("a conversation's budget", () => {
  test("is that of its forks, one after the other, also after a restart", async () => {
    const agent = await begun();
    const fork = await agent.fork();
    const inFork = await (await said(agent, fork, { script: calls(1) })).result();
    expect(inFork).toMatchObject({ stop_reason: "end_turn", effective: { budget: { cost: 3 } } });
    const inFirst = await (await said(agent, agent.first, { script: calls(1) })).result();
    expect(inFirst).toMatchObject({ stop_reason: "end_turn", effective: { budget: { cost: 2 } } });
    await agent.test.host.close();

    const later = await opened({ before: agent });
    const second = await later.test.host.sessions.conversations.fork(fork, {});
    const last = await (await said(later, second.session_id, { script: calls(3) })).result();
    expect(last).toMatchObject({
      stop_reason: "budget_cost",
      error: { code: "budget_exceeded" },
      effective: { budget: { cost: 1 } },
      usage: { cost: 1 },
    });
    expect(agent.model.asked).toHaveLength(5);
    for (const id of [agent.first, fork, second.session_id]) {
      await expect(said(later, id, { script: calls(1) })).rejects.toMatchObject({ code: "budget_exceeded" });
    }
    // A fork and a rewind that begin no turn are no use of it.
    await later.test.host.sessions.conversations.fork(fork, {});
    // One that a message sets is the conversation's own.
    const own = await (await said(later, fork, { script: calls(2), with: { budget: { cost: 2 } } })).result();
    expect(own.stop_reason).toBe("end_turn");
    await expect(said(later, agent.first, { script: calls(1) })).rejects.toMatchObject({ code: "budget_exceeded" });
  });

  test("is that of its forks while they run at once", async () => {
    const agent = await begun();
    const forks = [await agent.fork(), await agent.fork(), agent.first];
    const running = await Promise.all(forks.map((id) => said(agent, id, { script: calls(20) })));
    const results = await Promise.all(running.map((one) => one.result()));
    expect(results.map(({ error }) => error?.code)).toEqual(results.map(() => "budget_exceeded"));
    // Two before, three that were left, and at most the answers under way.
    expect(agent.model.asked.length).toBeGreaterThanOrEqual(5);
    expect(agent.model.asked.length).toBeLessThanOrEqual(7);
  });
});

describe("a budget of a session", () => {
  test("is refused as unenforceable where the host does not see the calls, or told", async () => {
    const agent = await opened();
    const blind = { env: { MODEL_URL: "" }, budget: { tokens: 1 } };
    await expect(agent.run("true", blind)).rejects.toMatchObject({
      code: "unenforceable",
      message: 'Adapter "agent" cannot be held to budget.tokens: its calls do not pass the host.',
      details: { fields: ["record", "budget.tokens"] },
      hint: expect.stringContaining("best_effort"),
    });
    const { effective } = await agent.run("true", { ...blind, best_effort: true });
    // The agent reports nothing either.
    expect(effective).toMatchObject({ budget: null, unenforced: ["record", "budget.tokens"] });
  });
});
