import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { interruptWhen, openStandIn, type StandInCall } from "./stand-in.ts";

const binary = "codex";

function paramsOf(calls: readonly StandInCall[], method: string): unknown[] {
  return calls.flatMap(({ message }) => message?.method === method ? [message.params] : []);
}

test("a session of Codex behind a process wall: text, usage and provenance", async () => {
  const agent = await openStandIn("codex", { binary });
  const { events, result } = await agent.run({ prompt: "--say 'it'\n[[scn:ok]]", model: "gpt-5.5" });
  expect(result).toMatchObject({
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    usage: { tokens_in: 100, tokens_out: 20, tokens_cached: 0, cost: 0, model: "mock-model" },
    artifacts: [],
    metadata: { tool_version: "0.171.0" },
  });
  expect(result.error).toBe(undefined);
  expect(printed(events)).toBe("done");
  const calls = await agent.calls();
  expect(calls[0]).toMatchObject({ args: ["app-server"], env: { CODEX_API_KEY: "" } });
  expect(paramsOf(calls, "turn/start")).toMatchObject([{ input: [{ text: "--say 'it'\n[[scn:ok]]" }] }]);
});

test.each(["tool", "gpt5-tool", "gpt5-patch", "twotools"])(
  "a tool call of Codex that writes a file: artifacts are what was written (%s)",
  async (scenario) => {
    const agent = await openStandIn("codex", { binary });
    const { events, result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
    expect(result).toMatchObject({
      stop_reason: "end_turn",
      artifacts: [{ path: "hello.txt" }],
      claimed_only: [],
    });
    expect(events.filter(({ type }) => type === "tool_call").length).toBe(scenario === "twotools" ? 2 : 1);
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
  ["term-shell", "crash"],
])("scenario %s of Codex ends as %s", async (scenario, stopReason) => {
  const agent = await openStandIn("codex", { binary });
  const { result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
  expect(result).toMatchObject({ outcome: "error", stop_reason: stopReason });
  expect(result.error?.message).toMatch(/\w/);
});

test("a line of Codex that is cut is kept, and a missing last word is a failure, whatever the exit", async () => {
  const agent = await openStandIn("codex", { binary });
  const { events, result } = await agent.run({ prompt: "[[scn:ok]] [[cut]]" });
  expect(events).toContainEqual({ type: "unparsed", data: expect.stringContaining('{"method":"turn/completed"') });
  expect(result).toMatchObject({ outcome: "error", stop_reason: "crash" });
});

test("an interrupted session of Codex leaves no process, not even its tool's shell", async () => {
  const agent = await openStandIn("codex", { binary, settings: { limits: { agent_grace_ms: 500 } } });
  const result = await interruptWhen(agent, {
    adapter: "codex",
    prompt: "[[scn:term-shell]] [[stay]]",
    seen: ({ event }) => event.type === "tool_call",
    processes: 2,
  });
  expect(result.stop_reason).toBe("interrupted");
  await until(async () => (await agent.alive()).length === 0);
});

test("a thread of Codex goes on by its id, and only what came since counts", async () => {
  const agent = await openStandIn("codex", { binary });
  const { result } = await agent.run({ prompt: "[[scn:resume2]]", continue_from: "thread-1" });
  expect(result).toMatchObject({ stop_reason: "end_turn", usage: { tokens_in: 100, tokens_out: 20 } });
  expect(paramsOf(await agent.calls(), "thread/resume")).toMatchObject([{ threadId: "thread-1" }]);
});

test.each([
  ["asks-command", "allow", "accept", true],
  ["denied-command", "deny", "decline", false],
  ["asks-patch", "allow", "accept", true],
  ["denied-patch", "deny", "decline", false],
])("what Codex asks is answered by the rules of the request: %s", async (scenario, answer, decision, success) => {
  const agent = await openStandIn("codex", { binary });
  const { events, result } = await agent.run({
    prompt: `[[scn:${scenario}]]`,
    approval: "ask",
    tool_approvals: { "*": answer as "allow" },
  });
  expect(result.stop_reason).toBe("end_turn");
  expect(events).toContainEqual(expect.objectContaining({ type: "permission_request" }));
  expect(events).toContainEqual(expect.objectContaining({ type: "tool_result", success }));
  expect((await agent.calls()).flatMap(({ message }) => message?.result ?? [])).toEqual([{ decision }]);
});

test("a budget of tokens ends a session of Codex while it runs", async () => {
  const agent = await openStandIn("codex", { binary });
  const asked = { prompt: "[[scn:stopped-shell]] [[stay]]", budget: { tokens: 100 } };
  await expect(agent.run(asked), "it has a login of its own").rejects.toMatchObject({ code: "unenforceable" });
  const { events, result } = await agent.run({ ...asked, best_effort: true });
  expect(result).toMatchObject({ stop_reason: "budget_tokens", usage: { tokens_in: 100, tokens_out: 20 } });
  expect(events.some(({ type }) => type === "completed")).toBe(false);
  await until(async () => (await agent.alive()).length === 0);
});

test("a kept session of Codex has its answer at once, waits for a message with its program, and leaves nothing", async () => {
  const agent = await openStandIn("codex", { binary });
  const { events, result } = await agent.run({ prompt: "[[scn:ok]]", keep_ms: 1500 });
  expect(result).toMatchObject({ outcome: "completed", output: "done", usage: { tokens_in: 100 } });
  expect(events.at(-1)).toMatchObject({ type: "completed" });
  await until(async () => (await agent.alive()).length === 0);
});

test("what a gateway of the person's own bills for a session of Codex is unknown", async () => {
  const before = process.env["CODEX_HOME"];
  const home = await mkdtemp(join(tmpdir(), "bulkhead-codex-home-"));
  const provider = `model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\n`;
  await writeFile(join(home, "config.toml"), provider);
  process.env["CODEX_HOME"] = home;
  try {
    const agent = await openStandIn("codex", { binary });
    const { result } = await agent.run({ prompt: "[[scn:ok]]" });
    expect(result).toMatchObject({ stop_reason: "end_turn", usage: { tokens_in: 100, cost: null, currency: null } });
  } finally {
    if (before === undefined) delete process.env["CODEX_HOME"];
    else process.env["CODEX_HOME"] = before;
    await rm(home, { recursive: true });
  }
});

test("the host finds Codex available where it is logged in", async () => {
  const agent = await openStandIn("codex", { binary });
  const report = (await agent.made.host.agents()).find((one) => one.id === "codex");
  expect(report).toMatchObject({ id: "codex", availability: "available", agent_version: "0.169.0" });
});
