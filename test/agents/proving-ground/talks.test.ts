import { describe, expect, test } from "vitest";
import { sleeper } from "../mock-model/scenarios.ts";
import { openGround } from "./ground.ts";
import { processesOf } from "./place.ts";
import { patience, type Talk } from "./talk.ts";

/** Agents of the Agent Client Protocol that are run by name. */
const talkers = ["acp-claude", "acp-codex", "acp-gemini", "acp-opencode"];
const steered = ["acp-claude", "acp-codex"];
const { agents, talk } = openGround(talkers);

const entries = ({ envelopes }: Talk) => envelopes.filter(({ event }) => event.type === "attempt_started").length;
/** Resolves when the model has said something. */
const speaks = (talk: Talk) =>
  expect.poll(() => talk.envelopes.some(({ event }) => event.type === "output" && event.stream === "stdout"), patience)
    .toBe(true);

describe.each(agents)("a talk with $id", (agent) => {
  test("has two turns in one process, and the second one knows the first", { timeout: 240_000 }, async () => {
    const left = await talk(agent, { scenario: "text" }, async (one) => {
      expect(await one.ended(1)).toMatchObject({ outcome: "completed", output: "It is done." });
      one.say("And now say quay.");
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(one.outcomes()).toEqual(["m1 new_turn 2"]);
      expect(entries(one)).toBe(1);
      expect(one.requests.some((body) => body.includes("wharf") && body.includes("quay"))).toBe(true);
      expect(one.envelopes.filter(({ event }) => event.type === "unparsed").map(({ event }) => event)).toEqual([]);
    });
    expect(left).toEqual([]);
  });

  test("goes on after a stop in the middle of a text, in the same process", { timeout: 240_000 }, async () => {
    const left = await talk(agent, { scenario: "endless" }, async (one) => {
      await speaks(one);
      one.scenario("text");
      one.stop();
      expect(await one.ended(1)).toMatchObject({ stop_reason: "interrupted" });
      one.say("And now say quay.");
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(entries(one)).toBe(1);
    });
    expect(left).toEqual([]);
  });

  test("goes on after a stop of a command that runs", { timeout: 240_000 }, async () => {
    const left = await talk(agent, { scenario: "command_endless" }, async (one) => {
      const runs = async () => (await processesOf(one.place)).some(({ command }) => command === sleeper);
      await expect.poll(runs, patience).toBe(true);
      one.scenario("text");
      one.say("Stop that, and say quay.", "interrupt");
      expect(await one.ended(1)).toMatchObject({ stop_reason: "interrupted" });
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(one.outcomes()).toEqual(["m1 new_turn 2"]);
      await expect.poll(runs, patience).toBe(false);
    });
    expect(left).toEqual([]);
  });

  test("takes a word into its turn, or has it as the next one", { timeout: 240_000 }, async () => {
    const left = await talk(agent, { scenario: "endless" }, async (one) => {
      await speaks(one);
      one.scenario("text");
      one.say("Say quay as well.", "steer");
      if (!steered.includes(agent.id)) {
        await new Promise((resolve) => setTimeout(resolve, 1000));
        one.stop();
      }
      await expect.poll(() => one.outcomes().length, patience).toBe(1);
      await one.ended(steered.includes(agent.id) ? 1 : 2);
      expect(one.requests.some((body) => body.includes("quay"))).toBe(true);
      expect(one.outcomes()).toEqual([steered.includes(agent.id) ? "m1 injected 1" : "m1 new_turn 2"]);
    });
    expect(left).toEqual([]);
  });
});
