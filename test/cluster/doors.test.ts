import type { ListSessionsResponse, NewSessionResponse } from "@agentclientprotocol/sdk";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readDaemonRecord } from "../../core/doors/daemon/daemon-record.ts";
import { remoteSessions } from "../../core/doors/cli/remote-sessions.ts";
import { unixFetch } from "../../core/ground/platform/net/unix-fetch.ts";
import { connectClient } from "../doors/acp/acp-client.ts";
import { until } from "./machine.ts";
import { gitIn } from "./repository.ts";
import { type Pair, startPair } from "./pair.ts";

let { one, two, end } = {} as Pair;

beforeAll(async () => void ({ one, two, end } = await startPair()), 60_000);
afterAll(() => end?.());

/** A session of machine one, once machine two has its beginning. */
async function onOne(adapter: string, seq: number): Promise<string> {
  const { id } = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter });
  await until("the other has it", async () => (await two.host.get(id).catch(() => null))?.last_seq! >= seq);
  return id;
}

async function asking(): Promise<string> {
  const id = await onOne("asker", 1);
  await until("it asks", async () => (await two.host.get(id)).waiting.length === 1);
  return id;
}

const ended = (id: string) => until("it has ended", async () => (await one.host.get(id)).state === "ended");

test("the MCP door of another machine lists, reads, answers, interrupts, diffs and deletes sessions", async () => {
  const record = await readDaemonRecord(join(two.stateDir, "daemon.json"));
  if (record === null || record === "broken") throw new Error("Machine two has no record.");
  const token = (await readFile(record.token_file, "utf8")).trim();
  const client = new Client({ name: "tester", version: "1.0.0" }, { capabilities: {} });
  await client.connect(
    new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
      fetch: unixFetch(record.socket!),
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })).structuredContent as { success: boolean; data: unknown };
  try {
    const id = await asking();
    expect(await call("list_sessions", { state: "running" })).toMatchObject({
      data: { sessions: [{ session_id: id, waiting: [{ request_id: "r1" }] }] },
    });
    expect(await call("answer", { session_id: id, request_id: "r1", choice: "yes" })).toMatchObject({
      success: true,
      data: { outcome: "completed" },
    });
    expect(await call("read_session", { session_id: id })).toMatchObject({
      data: {
        complete: true,
        events: expect.arrayContaining([
          expect.objectContaining({ event: expect.objectContaining({ type: "output", data: "told yes\n" }) }),
        ]),
      },
    });
    const ticking = await onOne("ticker", 5);
    expect(await call("interrupt_session", { session_id: ticking })).toMatchObject({
      success: true,
      data: { stop_reason: "interrupted" },
    });
    await ended(ticking);
    const request = { workdir: one.workdir, prompt: "go", workspace: "worktree" as const };
    const { id: session_id } = await one.host.start(request, { adapter: "writer" });
    await until("the other has its end", async () => (await two.host.get(session_id)).state === "ended");
    expect(await call("diff_session", { session_id })).toMatchObject({
      data: { artifacts: [{ path: "made.txt" }], patch: expect.stringContaining("+made") },
    });
    expect(await call("delete_session", { session_id })).toMatchObject({ success: true });
    await expect(one.host.get(session_id)).rejects.toMatchObject({ code: "not_found" });
    await one.host.workspaces.discard(session_id);
  } finally {
    await client.close();
  }
});

test("the ACP door of another machine loads a conversation, answers its agent, and cancels it", async () => {
  const load = { cwd: one.workdir, mcpServers: [] };
  for (const adapter of ["asker", "ticker"]) {
    await using there = connectClient({ sessions: remoteSessions(one.host), mode: adapter }, {
      permission: () => new Promise(() => {}),
    });
    await there.initialize();
    const { sessionId } = await there.agent.request<NewSessionResponse>("session/new", load);
    const prompted = there.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    const labels = { acp_session: sessionId };
    const seen = async () => (await two.host.list({ labels }))[0];
    await until("the other has it", async () => {
      const session = await seen();
      return adapter === "asker" ? session?.waiting.length === 1 : (session?.last_seq ?? 0) > 5;
    });
    const id = (await seen())!.session_id;

    await using here = connectClient({ sessions: remoteSessions(two.host) }, {
      permission: () => ({ outcome: { outcome: "selected", optionId: "0" } }),
    });
    await here.initialize();
    const { sessions: listed } = await here.agent.request<ListSessionsResponse>("session/list", {});
    expect(listed).toContainEqual(expect.objectContaining({ sessionId }));
    await here.agent.request("session/load", { ...load, sessionId });
    if (adapter === "asker") await until("it is told", () => here.said().includes("told yes"));
    else await here.agent.notify("session/cancel", { sessionId });
    expect(await prompted).toMatchObject({ stopReason: adapter === "asker" ? "end_turn" : "cancelled" });
    // The session waits for a further prompt, until its editor leaves.
    await there[Symbol.asyncDispose]();
    await ended(id);
  }
});

test("HTTP of another machine diffs, applies and deletes a session in a worktree", async () => {
  const request = { workdir: one.workdir, prompt: "go", workspace: "worktree" as const };
  const session = await one.host.start(request, { adapter: "writer" });
  await session.result();
  await until(
    "the other has its end",
    async () => (await two.host.get(session.id).catch(() => null))?.state === "ended",
  );
  const diff = await two.host.workspaces.diff(session.id);
  expect(diff).toEqual(await one.host.workspaces.diff(session.id));
  expect(new TextDecoder().decode(diff.patch)).toContain("+made");
  await expect(two.host.delete(session.id)).resolves.toBeUndefined();
  const other = await one.host.start(request, { adapter: "writer" });
  await other.result();
  await until("the other has it", async () => (await two.host.get(other.id).catch(() => null))?.state === "ended");
  expect(await two.host.workspaces.apply(other.id)).toMatchObject({ artifacts: [{ path: "made.txt" }] });
  expect(existsSync(join(one.workdir, "made.txt"))).toBe(true);
  expect(gitIn(one.workdir, "status", "--porcelain").toString()).toContain("made.txt");
});

test("a conversation is heard, stopped and shown from another machine", async () => {
  const start = { workdir: one.workdir, prompt: "go", keep_ms: 60_000 };
  const session = await one.host.start(start, { adapter: "ticker" });
  await until("the other has it", async () => (await two.host.get(session.id).catch(() => null)) !== null);
  const there = two.host.conversations;
  const content = [{ type: "text" as const, text: "more" }];
  const said = await there.say(session.id, { message_id: "m1", content });
  expect(said).toMatchObject({ message_id: "m1", session_id: session.id, state: "pending" });
  expect(await there.say(session.id, { message_id: "m1", content })).toMatchObject({ state: "pending" });
  expect(await there.messages(session.id, { state: "pending" })).toMatchObject([{ message_id: "m1", content }]);
  const changed = [{ type: "text" as const, text: "less" }];
  expect(await there.edit(session.id, "m1", changed)).toMatchObject({ content: changed });
  expect(await there.withdraw(session.id, "m1")).toMatchObject({ state: "dropped", reason: "withdrawn" });
  expect(await there.get(session.id)).toMatchObject({ conversation_id: session.id, state: "working", pending: [] });
  await there.stop(session.id);
  await session.interrupt();
  const types: string[] = [];
  for await (const { event } of there.events(session.id)) types.push(event.type);
  expect([types[0], types.at(-1)]).toEqual(["session_started", "session_ended"]);
  await expect(there.say(session.id, { content })).rejects.toMatchObject({ code: "unsupported" });
});
