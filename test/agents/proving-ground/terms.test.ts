import { describe, expect, test } from "vitest";
import { openGround } from "./ground.ts";
import type { Talk } from "./talk.ts";

/** Where the terms of a turn stand in a request to an agent's model. */
interface Terms {
  /** Null: the agent has no choice of it. */
  effortIn: ((body: Record<string, unknown>) => unknown) | null;
  /** A model that takes an effort. */
  model?: string;
  plan: RegExp;
  /** Says that the plan is over. */
  over?: RegExp;
}

const claude: Terms = {
  effortIn: (body) => Object(body["output_config"])["effort"],
  plan: /Plan mode is active/,
  over: /Exited Plan Mode/,
};
const codex: Terms = {
  effortIn: ({ reasoning }) => Object(reasoning)["effort"],
  plan: /<collaboration_mode># Plan Mode/,
  over: /# Collaboration Mode: Default/,
};
const terms: Record<string, Terms> = {
  "claude-code": { ...claude, model: "claude-opus-4-6" },
  codex,
  "acp-claude": claude,
  "acp-codex": codex,
  "acp-gemini": { effortIn: null, plan: /# Active Approval Mode: Plan/ },
};

const { agents, talk } = openGround(Object.keys(terms));

const entries = ({ envelopes }: Talk) => envelopes.filter(({ event }) => event.type === "attempt_started").length;
const asked = ({ requests }: Talk, words: string) => requests.filter((body) => body.includes(words));

describe.each(agents)("the terms of a turn of $id", (agent) => {
  const { effortIn, model, plan, over } = terms[agent.id]!;
  const own = model === undefined ? {} : { model };
  const effortsIn = (one: Talk, words: string) => asked(one, words).map((body) => effortIn?.(JSON.parse(body)));

  test("an effort is in the request to its model, and changes in the same process", { timeout: 240_000 }, async () => {
    const request = { ...own, effort: "low" as const };
    const left = await talk(agent, { scenario: "text", request }, async (one) => {
      const first = await one.ended(1);
      if (effortIn === null) return expect(first).toMatchObject({ error: { code: "unenforceable" } });
      expect(first).toMatchObject({ outcome: "completed" });
      // Another request may be for a title.
      expect(effortsIn(one, "wharf")).toContain("low");
      expect(asked(one, "wharf").some((body) => plan.test(body))).toBe(false);
      one.say("And now say quay.", "queue", { effort: "high" });
      expect(await one.ended(2)).toMatchObject({ outcome: "completed" });
      expect(effortsIn(one, "quay")).toContain("high");
      one.say("And now say pier.");
      expect(await one.ended(3)).toMatchObject({ outcome: "completed" });
      expect(effortsIn(one, "pier")).toContain("high");
      expect(entries(one)).toBe(1);
      expect(one.envelopes.flatMap(({ event }) => event.type === "turn_started" ? [event.with] : []))
        .toEqual([undefined, { effort: "high" }, { effort: "high" }]);
      expect(one.envelopes.filter(({ event }) => event.type === "unparsed").map(({ event }) => event)).toEqual([]);
    });
    expect(left).toEqual([]);
  });

  test("a plan is in the request to its model, until a message ends it", { timeout: 240_000 }, async () => {
    const request = { ...own, plan: true };
    const left = await talk(agent, { scenario: "text", request }, async (one) => {
      expect(await one.ended(1)).toMatchObject({ outcome: "completed" });
      expect(asked(one, "wharf").some((body) => plan.test(body))).toBe(true);
      one.say("And now say quay.", "queue", { plan: false });
      expect(await one.ended(2)).toMatchObject({ outcome: "completed" });
      const later = asked(one, "quay");
      expect(later.some((body) => over?.test(body) ?? !plan.test(body))).toBe(true);
      expect(entries(one)).toBe(1);
    });
    expect(left).toEqual([]);
  });
});
