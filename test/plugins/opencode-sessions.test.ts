import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { interruptWhen, openStandIn } from "./stand-in.ts";

const binary = "opencode";

test("a session of OpenCode behind a process wall: text, usage and provenance", async () => {
  const agent = await openStandIn("opencode", { binary });
  const { events, result } = await agent.run({ prompt: "--say 'it'\n[[scn:ok]]", model: "mock/mock-model" });
  expect(result).toMatchObject({
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    usage: { tokens_in: 100, tokens_out: 20, tokens_cached: 0, cost: null, model: "mock/mock-model" },
    artifacts: [],
  });
  expect(result.error).toBe(undefined);
  expect(printed(events)).toBe("done");
  const [call] = await agent.calls();
  expect(call).toMatchObject({ prompt: "--say 'it'\n[[scn:ok]]", env: { OPENCODE_DISABLE_AUTOUPDATE: "1" } });
});

test.each(["tool", "shell", "twotools", "thinking"])(
  "a tool call of OpenCode that writes a file: artifacts are what was written (%s)",
  async (scenario) => {
    const agent = await openStandIn("opencode", { binary });
    const { events, result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
    expect(result).toMatchObject({
      stop_reason: "end_turn",
      usage: { tokens_in: 200, tokens_out: 40 },
      artifacts: [{ path: "hello.txt" }],
      claimed_only: [],
    });
    expect(events.filter(({ type }) => type === "tool_call").length).toBe(scenario === "twotools" ? 2 : 1);
    expect(await readFile(join(agent.made.workdir, "hello.txt"), "utf8")).toBe("hi\n");
  },
);

test.each([
  ["401", "error", "unavailable"],
  ["429", "error", "rate_limit"],
  ["500", "error", "unavailable"],
  ["400ctx", "error", "fatal"],
  ["malformed", "error", "unavailable"],
  ["term-shell", "error", "crash"],
  ["ask-tool", "blocked", "refused"],
])("scenario %s of OpenCode ends as %s, %s", async (scenario, outcome, stopReason) => {
  const agent = await openStandIn("opencode", { binary });
  const { result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
  expect(result).toMatchObject({ outcome, stop_reason: stopReason });
  expect(result.error?.message).toMatch(/\w/);
});

test("a line of OpenCode that is cut is kept, and a missing last step is a failure, whatever the exit", async () => {
  const agent = await openStandIn("opencode", { binary });
  const { events, result } = await agent.run({ prompt: "[[scn:ok]] [[cut]]" });
  expect(events).toContainEqual({ type: "unparsed", data: expect.stringContaining('{"type":"step_finish"') });
  expect(result).toMatchObject({ outcome: "error", stop_reason: "crash" });
});

test("an interrupted session of OpenCode leaves no process, not even its tool's shell", async () => {
  const agent = await openStandIn("opencode", { binary, settings: { limits: { agent_grace_ms: 500 } } });
  const result = await interruptWhen(agent, {
    adapter: "opencode",
    prompt: "[[scn:term-shell]] [[stay]]",
    seen: ({ event }) => event.type === "output",
    processes: 2,
  });
  expect(result.stop_reason).toBe("interrupted");
  await until(async () => (await agent.alive()).length === 0);
});

test("a session of OpenCode goes on by its id", async () => {
  const agent = await openStandIn("opencode", { binary });
  const { result } = await agent.run({ prompt: "[[scn:resume2]]", continue_from: "ses_0001" });
  expect(result).toMatchObject({ stop_reason: "end_turn" });
  const [call] = await agent.calls();
  expect(call?.args.slice(-2)).toEqual(["-s", "ses_0001"]);
});

test("what OpenCode cannot hold is refused, and a budget of tokens is held", async () => {
  const agent = await openStandIn("opencode", { binary });
  await expect(agent.run({ allowed_tools: [] })).rejects.toMatchObject({ code: "unenforceable" });
  await expect(agent.run({ budget: { cost: 5 } })).rejects.toMatchObject({ code: "unenforceable" });
  const { result } = await agent.run({ prompt: "[[scn:tool]]", budget: { tokens: 100 }, best_effort: true });
  expect(result).toMatchObject({ stop_reason: "budget_tokens" });
});

test("the host finds OpenCode available where it offers a model", async () => {
  const agent = await openStandIn("opencode", { binary });
  const report = (await agent.made.host.agents()).find((one) => one.id === "opencode");
  expect(report).toMatchObject({ id: "opencode", availability: "available", agent_version: "1.18.33" });
});
