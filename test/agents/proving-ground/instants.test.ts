import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { type ScenarioName, sleeper } from "../mock-model/scenarios.ts";
import { openGround } from "./ground.ts";
import { processesOf } from "./place.ts";
import { patience, type Talk } from "./talk.ts";

/**
 * A word into a turn, given at each instant of it: it stands in a request to the model, in this turn or in one of its own,
 * and its outcome says which.
 */
const { agents, talk } = openGround(["claude-code", "codex", "acp-claude", "acp-gemini", "acp-codex", "acp-opencode"]);

const word = "Mind the harbour.";
const rows = new Map<string, string>();

afterAll(() => {
  console.log(["A word into a turn:", ...[...rows].map(([instant, outcome]) => `${instant}: ${outcome}`)].join("\n"));
});

interface Instant {
  scenario: ScenarioName;
  request?: Partial<SessionRequest>;
  /** Resolves at the instant. */
  come(talk: Talk): Promise<unknown>;
  /** Lets the turn under way end. */
  after?(talk: Talk): Promise<unknown> | void;
}

const seen = (talk: Talk, isIt: (event: Envelope["event"]) => boolean) =>
  expect.poll(() => talk.envelopes.some(({ event }) => isIt(event)), patience).toBe(true);
const speaks = (talk: Talk) => seen(talk, (event) => event.type === "output" && event.stream === "stdout");
const runs = (talk: Talk) =>
  expect.poll(async () => (await processesOf(talk.place)).some(({ command }) => command === sleeper), patience)
    .toBe(true);

/** Ends what has no end, once the agent had time to take the word. */
async function stopLater(talk: Talk): Promise<void> {
  for (let waited = 0; waited < 3000 && talk.outcomes().length === 0; waited += 100) await sleep(100);
  if (talk.outcomes().length === 0) talk.stop();
}

const instants: Record<string, Instant> = {
  "before the first byte": { scenario: "text", come: (talk) => seen(talk, ({ type }) => type === "attempt_started") },
  "in mid-text": {
    scenario: "endless",
    async come(talk) {
      await speaks(talk);
      talk.scenario("text");
    },
    after: stopLater,
  },
  "in a tool": {
    scenario: "command_endless",
    async come(talk) {
      await runs(talk);
      talk.scenario("text");
    },
    after: stopLater,
  },
  "at an open request": {
    // Codex behind the protocol asks for commands that are to leave its own sandbox, and no others.
    scenario: "command_unboxed",
    request: { approval: "ask" },
    async come(talk) {
      await seen(talk, ({ type }) => type === "permission_request");
      talk.scenario("text");
    },
    async after(talk) {
      await sleep(1000);
      talk.allow();
    },
  },
  "at the result": { scenario: "text", come: (talk) => speaks(talk) },
  "after the result": { scenario: "text", come: (talk) => talk.ended(1) },
  "with a helper at work": {
    scenario: "helper",
    come: (talk) => expect.poll(() => talk.isHelped(), patience).toBe(true),
  },
  "after a stop": {
    scenario: "endless",
    async come(talk) {
      await speaks(talk);
      talk.scenario("text");
      talk.stop();
    },
  },
};

describe.each(agents)("a word into a turn of $id", (agent) => {
  test.each(Object.keys(instants))("%s", { timeout: 300_000 }, async (name) => {
    const { scenario, request = {}, come, after } = instants[name]!;
    const left = await talk(agent, { scenario, request }, async (one) => {
      await come(one);
      one.say(word, "steer");
      await after?.(one);
      await expect.poll(() => one.outcomes().length, patience).toBe(1);
      const [, how, turn = ""] = /^m1 (injected|new_turn) (\d+)$/.exec(one.outcomes()[0]!) ?? [];
      rows.set(`${agent.id}, ${name}`, `${how} ${turn}`);
      expect(one.outcomes()).toEqual([expect.stringMatching(/^m1 (injected|new_turn) [12]$/)]);
      expect(await one.ended(Number(turn))).toMatchObject({ outcome: "completed" });
      const bodies = one.requests.filter((body) => body.includes(word));
      expect(bodies.length).toBeGreaterThan(0);
      if (how === "new_turn") expect(turn).toBe("2");
      // What the agent had as one of its own turn is there once.
      expect(bodies.at(-1)!.split(word).length - 1).toBe(1);
      expect(one.envelopes.filter(({ event }) => event.type === "attempt_started").length).toBe(1);
    });
    expect(left).toEqual([]);
  });
});
