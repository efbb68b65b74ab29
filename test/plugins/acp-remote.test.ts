import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openHost } from "../sessions/host/test-host.ts";
import { printed } from "./recorded-lines.ts";
import { openRemote, type Remote, serve, sessionId, ways } from "./remote-agent.ts";

const folder = fileURLToPath(new URL("../../plugins/acp", import.meta.url));

/** Runs a session that stays until something is done at its first words. */
async function stay({ made }: Remote, act: (interrupt: () => void) => void) {
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "stay", retry: "never" }, {
    adapter: "acp",
  });
  for await (const { event } of session.events()) if (event.type === "output") act(() => void session.interrupt());
  return await session.result();
}

describe.each(ways)("an agent elsewhere, by %s through the broker", (way) => {
  test("has a session", async () => {
    const remote = await openRemote({ way });
    const { events, result } = await remote.run({ prompt: "go" });
    expect(result).toMatchObject({ outcome: "completed", stop_reason: "end_turn", output: "done" });
    expect(events.map(({ type }) => type)).toEqual(["agent_info", "output", "completed"]);
    expect(events[0]).toMatchObject({ agent_session_id: sessionId, agent_version: "3.2.1" });
    // By HTTP one message each for the greeting, the session and the prompt; a stream each for connection and session.
    // The last word of all may arrive after the session's end.
    const methods = way === "ws" ? ["UPGRADE"] : ["DELETE", "GET", "GET", "POST", "POST", "POST"];
    await expect.poll(() => remote.seen.methods.toSorted(), { timeout: 20_000 }).toEqual(methods);
    await expect.poll(() => remote.seen.closes, { timeout: 20_000 }).toEqual(way === "ws" ? [1000] : []);
  });

  test("has what it asks answered: a permission, and a file that the broker looks for", async () => {
    const remote = await openRemote({ way });
    const { result } = await remote.run({ prompt: "ask", approval: "all" });
    expect(result).toMatchObject({ outcome: "completed", output: "selected, error -32002" });
  });

  test("has its tool calls told", async () => {
    const remote = await openRemote({ way });
    const { events } = await remote.run({ prompt: "tool" });
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_call", call_id: "call-1", kind: "read" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_result", call_id: "call-1", success: true }));
  });

  test("has many updates arrive whole and in order", async () => {
    const remote = await openRemote({ way });
    const { events } = await remote.run({ prompt: "many" });
    expect(printed(events)).toBe(`${"0123456789".repeat(500)}done`);
  });

  test("gets its token, a secret that goes nowhere else", async () => {
    const remote = await openRemote({
      way,
      token: "a-token-of-the-test",
      grant: (target) => ({ net: [target], secrets: [{ name: "ACP_TEST_TOKEN" }] }),
    });
    const { result } = await remote.run({ prompt: "go" });
    expect(result.error).toBe(undefined);
    expect(new Set(remote.seen.tokens)).toEqual(new Set(["Bearer a-token-of-the-test"]));
  });

  test("that wants another token is unavailable", async () => {
    const remote = await openRemote({
      way,
      token: "a-token-of-the-test",
      stored: "wrong-token-of-the-test",
      grant: (target) => ({ net: [target], secrets: [{ name: "ACP_TEST_TOKEN" }] }),
    });
    const { result } = await remote.run({ prompt: "go" });
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
    expect(result.error?.message).toContain(way === "ws" ? "status 401 instead of" : "status 401: who are you");
  });

  test("is sent nothing without the grant of its address", async () => {
    const remote = await openRemote({ way, grant: () => ({ net: ["127.0.0.1:1"] }) });
    const { result } = await remote.run({ prompt: "go" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "permission_denied" } });
    expect(result.error?.hint).toMatch(/^bulkhead plugin grant acp net:127\.0\.0\.1:\d+$/);
    expect(remote.seen.methods).toEqual([]);
  });

  test("is told of an interrupt", async () => {
    const remote = await openRemote({ way });
    expect(await stay(remote, (interrupt) => interrupt())).toMatchObject({ stop_reason: "interrupted" });
    expect(remote.seen.cancelled).toBe(true);
    await expect.poll(() => remote.seen.sockets.every(({ readyState, CLOSED }) => readyState === CLOSED)).toBe(true);
  });

  test("whose connection breaks off in the middle of a turn is unavailable", async () => {
    const remote = await openRemote({ way });
    const result = await stay(remote, () => remote.cut());
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable", error: { code: "unavailable" } });
    expect(result.error?.message).toContain("broke off");
  });

  test("says in a rate limit how long to wait", async () => {
    const { run } = await openRemote({ way });
    const { events, result } = await run({ prompt: "limited" });
    expect(events).toContainEqual(expect.objectContaining({ type: "rate_limit", wait_ms: 3000 }));
    expect(result).toMatchObject({ stop_reason: "rate_limit" });
  });

  test("is given no MCP servers", async () => {
    const { run, seen } = await openRemote({ way, manifest: "mcp_servers:\n  files: { command: files-server }\n" });
    const { result } = await run({ prompt: "go", mcp_servers: ["files"] });
    expect(result.error).toMatchObject({ code: "unsupported" });
    expect(seen.methods).toEqual([]);
  });

  test("is greeted by the probe", async () => {
    const { made } = await openRemote({ way });
    const reports = await made.host.agents();
    expect(reports.find(({ id }) => id === "acp")).toMatchObject({ availability: "available", agent_version: "3.2.1" });
  });

  test("is none where something else answers", async () => {
    const { target } = await serve(createServer((_request, response) => void response.end("{}")));
    const made = await openHost({ bundledDir: fileURLToPath(new URL("../../plugins/", import.meta.url)) });
    await made.host.registry.register(folder, { grant: { net: [target] }, config: { url: `${way}://${target}` } });
    const { result } = await made.run("acp", { retry: "never" });
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
    const why = way === "ws" ? "status 200 instead of a WebSocket" : "does not speak the Agent Client Protocol";
    expect(result.error?.message).toContain(why);
  });
});

describe("a WebSocket to an agent elsewhere", () => {
  test("that the agent closes for a reason ends the session with it", async () => {
    const remote = await openRemote({ way: "ws" });
    const result = await stay(remote, () => remote.seen.sockets[0]?.close(1011, "the model is gone"));
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
    expect(result.error?.message).toContain("code 1011: the model is gone");
  });

  test("that the agent closes in order ends its turn in the middle", async () => {
    const remote = await openRemote({ way: "ws" });
    const result = await stay(remote, () => remote.seen.sockets[0]?.close(1000));
    expect(result).toMatchObject({ outcome: "error", stop_reason: "unavailable" });
    expect(result.error?.message).toContain("in the middle of its turn");
  });

  test("carries text that is no message as output", async () => {
    const remote = await openRemote({ way: "ws" });
    const told: unknown[] = [];
    const session = await remote.made.host.runSession({ workdir: remote.made.workdir, prompt: "stay" }, {
      adapter: "acp",
    });
    for await (const { event } of session.events()) {
      if (event.type !== "output") continue;
      told.push(event.data);
      if (told.length === 1) remote.seen.sockets[0]?.send("not a message");
      else void session.interrupt();
    }
    expect(told).toEqual(["waiting", "not a message\n"]);
  });

  test("takes no message that is larger than its limit", async () => {
    const remote = await openRemote({ way: "ws" });
    const { result } = await remote.run({ prompt: "long", retry: "never" });
    expect(result).toMatchObject({ outcome: "error", error: { code: "too_large" } });
    await expect.poll(() => remote.seen.closes, { timeout: 20_000 }).toHaveLength(1);
  });

  test("takes nothing binary", async () => {
    const remote = await openRemote({ way: "ws" });
    const result = await stay(remote, () => remote.seen.sockets[0]?.send(new Uint8Array([123, 125])));
    expect(result).toMatchObject({ outcome: "error", error: { code: "unsupported" } });
  });
});
