import { expect, test } from "vitest";
import { openGround } from "./ground.ts";
import type { Talk } from "./talk.ts";

/** Agents that copy their sessions; those of the first list up to any turn. */
const anywhere = ["claude-code", "codex"];
const forkers = [...anywhere, "acp-claude", "acp-codex"];
const { agents, talk } = openGround(forkers);

const ownId = ({ envelopes }: Talk) =>
  envelopes.flatMap(({ event }) => event.type === "agent_info" ? [event.agent_session_id ?? ""] : [])[0] ?? "";
/** The last request with these words to the model that does the work: another one makes titles. */
const asked = ({ requests }: Talk, words: string) =>
  requests.findLast((body) => body.includes(words) && !body.includes('"model":"gpt-5.6-luna"')) ?? "";

test.each(agents)("a fork of a session of $id knows the turns up to its own, and the session stays as it is", {
  timeout: 300_000,
}, async (agent) => {
  const left = await talk(agent, { scenario: "text" }, async (one) => {
    const first = await one.ended(1);
    one.say("And now say quay.");
    await one.ended(2);
    one.say("And now say pier.");
    await one.ended(3);
    await one.end();
    const continue_from = ownId(one);
    const isAnywhere = anywhere.includes(agent.id);
    expect(first.agent_ref !== undefined).toBe(isAnywhere);
    const fork = isAnywhere ? { at: first.agent_ref! } : {};

    const copy = await one.again({ prompt: "And now say jetty.", continue_from, fork });
    expect(await copy.ended(1)).toMatchObject({ outcome: "completed" });
    expect(asked(one, "jetty")).toContain("wharf");
    expect(asked(one, "jetty").includes("quay")).toBe(!isAnywhere);
    expect(asked(one, "jetty").includes("pier")).toBe(!isAnywhere);
    expect(ownId(copy)).not.toBe(continue_from);
    await copy.end();

    const same = await one.again({ prompt: "And now say dock.", continue_from });
    expect(await same.ended(1)).toMatchObject({ outcome: "completed" });
    for (const words of ["wharf", "quay", "pier"]) expect(asked(one, "dock")).toContain(words);
    expect(asked(one, "dock")).not.toContain("jetty");
    await same.end();
  });
  expect(left).toEqual([]);
});
