import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { interruptWhen, openStandIn } from "./stand-in.ts";

const binary = "codex";

test("a session of Codex behind a process wall: text, usage and provenance", async () => {
  const agent = await openStandIn("codex", { binary });
  const { events, result } = await agent.run({ prompt: "--say 'it'\n[[scn:ok]]", model: "gpt-5.5" });
  expect(result).toMatchObject({
    outcome: "completed",
    stop_reason: "end_turn",
    output: "done",
    usage: { tokens_in: 100, tokens_out: 20, tokens_cached: 0, cost: 0, model: "gpt-5.5" },
    artifacts: [],
    metadata: { tool_version: null },
  });
  expect(result.error).toBe(undefined);
  expect(printed(events)).toBe("done");
  const [call] = await agent.calls();
  expect(call).toMatchObject({ prompt: "--say 'it'\n[[scn:ok]]", env: { CODEX_API_KEY: "" } });
  expect(call?.args.at(-1)).toBe("-");
});

test.each(["tool", "gpt5-patch", "twotools"])(
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
  expect(events).toContainEqual({ type: "unparsed", data: expect.stringContaining('{"type":"turn.completed"') });
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

test("a thread of Codex goes on by its id", async () => {
  const agent = await openStandIn("codex", { binary });
  const { result } = await agent.run({
    prompt: "[[scn:resume2]]",
    continue_from: "00000000-0000-4000-8000-000000000001",
  });
  expect(result).toMatchObject({ stop_reason: "end_turn", usage: { tokens_in: null } });
  const [call] = await agent.calls();
  expect(call?.args.slice(-3)).toEqual(["resume", "00000000-0000-4000-8000-000000000001", "-"]);
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

test("what Codex cannot hold is refused", async () => {
  const agent = await openStandIn("codex", { binary });
  await expect(agent.run({ allowed_tools: [] })).rejects.toMatchObject({ code: "unenforceable" });
  await expect(agent.run({ budget: { tokens: 5 } })).rejects.toMatchObject({ code: "unenforceable" });
});

test("the host finds Codex available where it is logged in", async () => {
  const agent = await openStandIn("codex", { binary });
  const report = (await agent.made.host.agents()).find((one) => one.id === "codex");
  expect(report).toMatchObject({ id: "codex", availability: "available", agent_version: "0.169.0" });
});
