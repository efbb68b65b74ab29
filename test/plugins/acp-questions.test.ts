import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { checkSession } from "../sessions/session/session-rules.ts";
import { openStandIn, type StandIn } from "./stand-in.ts";

const program = fileURLToPath(new URL("../fixtures/acp/asking-agent.mjs", import.meta.url));

/** Runs a scenario under `reads`, with a client that gives each request this answer; what is asked of it, and the log. */
async function play({ made }: StandIn, { scenario, answer }: { scenario: string; answer: string | null }) {
  const session = await made.host.runSession(
    {
      workdir: made.workdir,
      prompt: `[[scn:${scenario}]]`,
      approval: "reads",
      retry: "never",
      // Past this, a request that stayed open ends the session.
      answer_timeout_ms: answer === null ? 600 : 30_000,
    },
    { adapter: "acp", artifacts: "none" },
  );
  const envelopes: Envelope[] = [];
  for await (const envelope of session.events()) {
    envelopes.push(envelope);
    const { event } = envelope;
    // Policy has answered what it answers by now.
    if (event.type === "permission_request" && answer !== null) {
      setTimeout(() => void session.answer(event.request_id, answer), 50);
    }
  }
  expect(checkSession(envelopes)).toEqual([]);
  const events = envelopes.map(({ event }) => event);
  const result = await session.result();
  return {
    events,
    result,
    asked: events.flatMap((event) => (event.type === "permission_request" ? [event.request_id] : [])),
    resolved: events.flatMap((event) => event.type === "permission_resolved" ? [`${event.choice} ${event.by}`] : []),
  };
}

test("what an ACP agent asks is asked once under a name of its own, and every request gets an answer", async () => {
  const agent = await openStandIn("acp", {
    binary: "gemini",
    program,
    settings: { grant: { run: [{ binary: "gemini" }] }, config: { agent: "gemini" } },
  });
  const [again, twice, withdraw, over, child, denied, kinds, nothing] = await Promise.all([
    play(agent, { scenario: "again", answer: "no" }),
    play(agent, { scenario: "twice", answer: null }),
    play(agent, { scenario: "withdraw", answer: null }),
    play(agent, { scenario: "over", answer: null }),
    play(agent, { scenario: "child", answer: "yes" }),
    play(agent, { scenario: "child", answer: "no" }),
    play(agent, { scenario: "kinds", answer: "odd" }),
    play(agent, { scenario: "nothing", answer: null }),
  ]);
  const completed = (output: string) => ({ outcome: "completed", output });

  expect(again.result).toMatchObject(completed("yes no"));
  expect([again.asked, again.resolved]).toEqual([["permission-7", "permission-7~1"], ["yes policy", "no client"]]);

  expect(twice.result).toMatchObject(completed("-32800 no"));
  expect(twice.resolved).toEqual(["null agent"]);
  expect(twice.events).toContainEqual({
    type: "progress",
    message: "A request of the agent for permission was denied: another one with its id was open.",
  });

  expect(withdraw.result).toMatchObject(completed("-32800 yes"));
  expect(withdraw.resolved).toEqual(["null agent", "yes policy"]);

  expect(over.result).toMatchObject(completed("no"));
  expect(over.resolved).toEqual(["null agent"]);

  expect(child.result).toMatchObject(completed("yes"));
  expect(child.events).toContainEqual(
    expect.objectContaining({
      type: "permission_request",
      title: "[sub-agent child-7] Tool edit",
      call_id: "child-7/edit",
      agent_id: "child-7",
    }),
  );
  const message = "[sub-agent child-7] I am the helper.";
  expect(child.events).toContainEqual({ type: "progress", message, agent_id: "child-7" });
  expect(child.events).toContainEqual({ type: "agent_started", agent_id: "child-7", name: "child-7" });
  expect(child.events.filter(({ type }) => type === "file_change")).toHaveLength(1);
  expect(child.result.claimed_only).toEqual([]);
  expect(denied.result.error).toMatchObject({ code: "permission_denied" });

  expect(kinds.result).toMatchObject(completed("odd"));
  expect(kinds.events).toContainEqual(expect.objectContaining({
    options: [{ id: "some", label: "For this session", kind: "other" }, { id: "odd", label: "?", kind: "other" }],
  }));

  expect(nothing.result).toMatchObject(completed("no"));
  expect(nothing.events).toContainEqual({
    type: "progress",
    message: "A request of the agent for permission was denied: it cannot be understood.",
  });
});
