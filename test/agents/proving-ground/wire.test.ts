import process from "node:process";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { field, list } from "../mock-model/exchange.ts";
import { byKey } from "./by-key.ts";
import { openGround } from "./ground.ts";
import { patience, type Talk } from "./talk.ts";

/** Output of each of the mock model's answers, by agent; their input is 100 tokens. */
const outputs: Record<string, number> = {
  "claude-code": 20,
  codex: 20,
  "gemini-cli": 25,
  opencode: 20,
  "acp-claude": 20,
  "acp-gemini": 25,
};

const { agents, talk } = openGround(Object.keys(outputs));

type ModelCall = Extract<Envelope["event"], { type: "model_call" }>;
const calls = ({ envelopes }: Talk) =>
  envelopes.flatMap(({ event }): ModelCall[] => event.type === "model_call" ? [event] : []);
const over = async ({ envelopes }: Talk) => {
  await expect.poll(() => envelopes.at(-1)?.event.type, patience).toBe("session_ended");
  const { event } = envelopes.at(-1)!;
  return event.type === "session_ended" ? event.result : expect.unreachable();
};

describe.each(agents.map(byKey))("the wire of $id", (agent) => {
  const output = outputs[agent.id]!;

  test("counts what its model counts, those from a cache too", { timeout: 240_000 }, async () => {
    await talk(agent, { scenario: "command", cached: 30 }, async (one) => {
      one.allow();
      const { usage } = await one.ended(1);
      const made = one.requests.length;
      expect(made).toBeGreaterThan(1);
      expect(usage.wire).toMatchObject({
        calls: made,
        unknown: 0,
        tokens_in: made * 100,
        tokens_cached: made * 30,
        tokens_out: made * output,
      });
      expect(usage).toMatchObject({ tokens_in: made * 100, tokens_cached: made * 30, tokens_out: made * output });
      expect(usage.wire).not.toHaveProperty("reported_tokens");
      expect(calls(one)).toHaveLength(made);
      await one.end();
    });
  });

  if (agent.helpers === true) {
    test("counts what a helper of its program calls", { timeout: 240_000 }, async () => {
      await talk(agent, { scenario: "helper" }, async (one) => {
        one.allow();
        const { usage } = await one.ended(1);
        const made = one.requests.length;
        expect(made).toBeGreaterThan(2);
        expect(usage.wire).toMatchObject({ calls: made, unknown: 0, tokens_in: made * 100, tokens_out: made * output });
        await one.end();
      });
    });
  }

  const failing = process.env["CASES"]?.includes("server_error") ?? true;
  // Some try for more than a minute.
  if (failing) {
    test("counts each call that fails, and no tokens for it", { timeout: 240_000 }, async () => {
      await talk(agent, { scenario: "server_error" }, async (one) => {
        expect(await one.ended(1)).toMatchObject({ outcome: "error" });
        expect(calls(one)).toHaveLength(one.requests.length);
        const failed = calls(one).filter(({ status, tokens_in }) => status === 500 && tokens_in === null);
        // What it asks without tools is a title, which is answered.
        const titles = one.requests.filter((body) => list(field(JSON.parse(body), "tools")).length === 0);
        expect(failed).toHaveLength(one.requests.length - titles.length);
        await one.end();
      });
    });
  }

  test("refuses a call once the budget is spent, and the agent ends by itself", { timeout: 240_000 }, async () => {
    const left = await talk(agent, { scenario: "command", request: { budget: { tokens: 90 } } }, async (one) => {
      one.allow();
      const result = await over(one);
      expect(result).toMatchObject({ stop_reason: "budget_tokens", outcome: "error" });
      // It did not wait to be ended.
      const at = one.envelopes.find(({ event }) => event.type === "model_call" && event.refused)!.ts;
      expect(Date.parse(one.envelopes.at(-1)!.ts) - Date.parse(at)).toBeLessThan(30_000);
      // Some ask for a title at the same time.
      expect(calls(one).filter(({ refused }) => refused === undefined).length).toBeLessThanOrEqual(2);
      expect(calls(one).filter(({ refused }) => refused === "budget_tokens")).toHaveLength(1);
      expect(result.usage.wire!.calls).toBe(one.requests.length);
    });
    expect(left).toEqual([]);
  });
});
