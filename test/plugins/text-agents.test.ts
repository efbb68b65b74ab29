import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cliTool } from "bulkhead/plugin-sdk";
import { probeAdapter } from "bulkhead/plugin-sdk/testing";
import { describe, expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { requestedPermissions } from "../../core/packages/permissions/requested-permissions.ts";
import { until } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { interruptWhen, openStandIn } from "./stand-in.ts";

const agents = [
  { id: "qchat", binary: "q", version: "1.19.7" },
  { id: "kiro", binary: "kiro-cli", version: "2.21.0" },
];

describe.each(agents)("$id, an adapter without code", ({ id, binary, version }) => {
  test("asks for its program with the arguments of a session and its probes, and nothing else", async () => {
    const manifest = await readManifest(fileURLToPath(new URL(`../../plugins/${id}/`, import.meta.url)));
    const { run = [], net = [], ...others } = requestedPermissions(manifest);
    expect(others).toEqual({});
    expect(net.filter((host) => !/\.(?:amazonaws\.com|kiro\.dev):443$/.test(host))).toEqual([]);
    expect([...new Set(run.map((entry) => entry.binary))]).toEqual([binary]);
    expect([...new Set(run.flatMap((entry) => entry.args ?? []))].sort()).toEqual([
      "--version",
      "chat --no-interactive --trust-all-tools",
      "whoami",
    ]);
  });

  test.each([
    [{ stdout: "KDB+ 4.1\n" }, { exit_code: 0 }, "incompatible"],
    [{ stdout: `${binary} ${version}\n` }, { exit_code: 1, stderr: "Not logged in" }, "unauthenticated"],
  ])("with version %j and login %j is %s", async (said, login, availability) => {
    const manifest = await readManifest(fileURLToPath(new URL(`../../plugins/${id}/`, import.meta.url)));
    const { report, violations } = await probeAdapter(cliTool(manifest), {
      processes: [{ binary, args: "--version", ...said }, { binary, args: "whoami", ...login }],
    });
    expect({ ...report, violations }).toMatchObject({ availability, violations: [] });
  });

  test("gives the prompt on standard input and the text as output, at no cost", async () => {
    const agent = await openStandIn(id, { binary });
    const prompt = "--help 'me'\n[[scn:ok]]";
    const { events, result } = await agent.run({ prompt });
    expect(result).toMatchObject({
      outcome: "completed",
      stop_reason: "end_turn",
      usage: { tokens_in: null, tokens_out: null, cost: 0 },
      artifacts: [],
    });
    expect(printed(events)).toBe("\u001b[m> \u001b[0mdone\n");
    expect(await agent.calls()).toMatchObject([{ args: ["chat", "--no-interactive", "--trust-all-tools"], prompt }]);
  });

  test("a file that it writes is an artifact", async () => {
    const agent = await openStandIn(id, { binary });
    const { result } = await agent.run({ prompt: "[[scn:tool]]" });
    expect(result).toMatchObject({ stop_reason: "end_turn", artifacts: [{ path: "hello.txt" }] });
    expect(await readFile(join(agent.made.workdir, "hello.txt"), "utf8")).toBe("hi\n");
  });

  const own: [string, string, RegExp][] = [["mcp", "unavailable", /MCP/], ["agent", "fatal", /agent/]];
  const failures: [string, string, RegExp][] = [
    ["401", "fatal", /log/],
    ["429", "rate_limit", /hrottl/],
    ["500", "fatal", /InternalServerException/],
    ["400ctx", "fatal", /context window/],
    ["killed", "crash", /SIGTERM/],
    ...(id === "kiro" ? own : []),
  ];
  test.each(failures)("scenario %s ends as %s", async (scenario, stopReason, said) => {
    const agent = await openStandIn(id, { binary });
    const { events, result } = await agent.run({ prompt: `[[scn:${scenario}]]` });
    expect(result).toMatchObject({ outcome: "error", stop_reason: stopReason });
    expect(result.error?.message).toMatch(said);
    expect(events.some(({ type }) => type === "rate_limit")).toBe(stopReason === "rate_limit");
  });

  test("text that looks like the half of an event is text", async () => {
    const agent = await openStandIn(id, { binary });
    const { events, result } = await agent.run({ prompt: "[[scn:malformed]]" });
    expect(printed(events)).toBe('{"type": "half\n');
    expect(result.stop_reason).toBe("end_turn");
  });

  test("an interrupted session leaves no process", async () => {
    const agent = await openStandIn(id, { binary, settings: { limits: { agent_grace_ms: 500 } } });
    const result = await interruptWhen(agent, {
      adapter: id,
      prompt: "[[scn:endless]] [[stay]]",
      seen: ({ event }) => event.type === "output",
      processes: 2,
    });
    expect(result.stop_reason).toBe("interrupted");
    await until(async () => (await agent.alive()).length === 0);
  });

  test("what it cannot take is refused: a model, a session to go on with, tools, a budget", async () => {
    const agent = await openStandIn(id, { binary });
    for (
      const request of [{ model: "any" }, { continue_from: "x" }, { allowed_tools: [] }, { budget: { tool_calls: 1 } }]
    ) {
      await expect(agent.run(request)).rejects.toMatchObject({ code: "unenforceable" });
    }
  });

  test("is available where it is logged in, and says which version it is", async () => {
    const agent = await openStandIn(id, { binary });
    const report = (await agent.made.host.agents()).find((one) => one.id === id);
    expect(report).toMatchObject({ id, availability: "available", agent_version: version });
  });
});
