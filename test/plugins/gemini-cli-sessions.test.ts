import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { interruptWhen, openStandIn } from "./stand-in.ts";

const [id, binary] = ["gemini-cli", "gemini"];

test("a session of Gemini CLI behind a process wall: text, usage and its price", async () => {
  vi.stubEnv("GEMINI_API_KEY", "sk-of-this-test");
  onTestFinished(() => void vi.unstubAllEnvs());
  const agent = await openStandIn(id, { binary });
  const prompt = "--say 'it'\n[[scn:ok]]";
  const { events, result } = await agent.run({ prompt });
  expect(result).toMatchObject({
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    // 100 in at $1.25 and 25 out, thoughts among them, at $10 a million.
    usage: { tokens_in: 100, tokens_out: 25, tokens_cached: 0, cost: 0.000375, currency: "USD", basis: "estimated" },
    artifacts: [],
  });
  expect(result.error).toBe(undefined);
  expect(printed(events)).toBe("done");
  const [call] = await agent.calls();
  // The model is the one of the user's own settings.
  expect(call).toMatchObject({ prompt, args: expect.not.arrayContaining(["-m"]) });
});

test.each([["tool", 1], ["shell", 1], ["twotools", 2]])(
  "a tool call of Gemini CLI that writes a file: artifacts are what was written (%s)",
  async (scenario, toolCalls) => {
    const agent = await openStandIn(id, { binary });
    const { events, result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
    expect(result).toMatchObject({ stop_reason: "end_turn", artifacts: [{ path: "hello.txt" }], claimed_only: [] });
    expect(events.filter(({ type }) => type === "tool_call").length).toBe(toolCalls);
    expect(await readFile(join(agent.made.workdir, "hello.txt"), "utf8")).toBe("hi\n");
  },
);

test.each([
  ["401", "unavailable"],
  ["429", "rate_limit"],
  ["429sub", "rate_limit"],
  ["500", "unavailable"],
  ["400ctx", "fatal"],
  ["malformed", "unavailable"],
  ["gterm-shell", "crash"],
  ["untrusted-tool", "fatal"],
])("scenario %s of Gemini CLI ends as %s", async (scenario, stopReason) => {
  const agent = await openStandIn(id, { binary });
  const { result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
  expect(result).toMatchObject({ outcome: "error", stop_reason: stopReason });
  expect(result.error?.message).toMatch(/\w/);
});

test("a limit that Gemini CLI waited out itself is told, and the session completes", async () => {
  const agent = await openStandIn(id, { binary });
  const { events, result } = await agent.run({ prompt: "[[scn:429once]]" });
  expect(result.stop_reason).toBe("end_turn");
  expect(events.filter(({ type }) => type === "rate_limit")).toMatchObject([{ wait_ms: 2000 }]);
});

test("a line of Gemini CLI that is cut is kept, and a missing last word is a failure, whatever the exit", async () => {
  const agent = await openStandIn(id, { binary });
  const { events, result } = await agent.run({ prompt: "[[scn:ok]] [[cut]]" });
  expect(events).toContainEqual({ type: "unparsed", data: expect.stringContaining('{"type":"result"') });
  expect(result).toMatchObject({ outcome: "error", stop_reason: "crash" });
});

test.each(["", "[[launcher]]"])(
  "an interrupted session of Gemini CLI leaves no process, not even its tool's shell %s",
  async (launcher) => {
    const agent = await openStandIn(id, { binary, settings: { limits: { agent_grace_ms: 1000 } } });
    const result = await interruptWhen(agent, {
      adapter: id,
      prompt: `[[scn:gterm-shell]] [[stay]] ${launcher}`,
      seen: ({ event }) => event.type === "tool_call",
      processes: launcher === "" ? 2 : 3,
    });
    expect(result.stop_reason).toBe("interrupted");
    await until(async () => (await agent.alive()).length === 0);
  },
);

test("a session of Gemini CLI goes on by its id", async () => {
  const agent = await openStandIn(id, { binary });
  const session = "00000000-0000-4000-8000-000000000001";
  const { events, result } = await agent.run({ prompt: "[[scn:resume2]]", continue_from: session });
  expect(result).toMatchObject({ stop_reason: "end_turn", usage: { tokens_in: 100 } });
  expect(events).toContainEqual({ type: "agent_info", agent_session_id: session, model: "gemini-2.5-pro" });
  const [call] = await agent.calls();
  expect(call?.args.slice(-2)).toEqual(["--resume", session]);
});

test("what Gemini CLI cannot hold is refused", async () => {
  const agent = await openStandIn(id, { binary });
  await expect(agent.run({ allowed_tools: [] })).rejects.toMatchObject({ code: "unenforceable" });
  await expect(agent.run({ approval: "ask" })).rejects.toMatchObject({ code: "unenforceable" });
});

test("the host finds Gemini CLI where it is installed", async () => {
  const agent = await openStandIn(id, { binary });
  const report = (await agent.made.host.agents()).find((one) => one.id === id);
  expect(report).toMatchObject({ id, availability: "available", agent_version: "0.61.0" });
});
