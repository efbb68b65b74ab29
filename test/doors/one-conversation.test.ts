import { expect, test } from "vitest";
import { converse } from "../../core/doors/client/mod.ts";
import { adapterCode, openHost } from "../sessions/host/test-host.ts";
import { connectClient } from "./acp/acp-client.ts";
import { openDoor } from "./http/door-fixture.ts";
import { connectOverPipes } from "./mcp/mcp-client.ts";

/** Answers each turn with its prompt; one that says "wait" lasts until it is stopped. */
const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: turn.prompt + "; " };
      if (turn.prompt === "wait") await ctx.sleep(600_000, { signal: turn.signal }).catch(() => {});
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

test("one conversation goes through every door in turn", async () => {
  const { host, workdir, add } = await openHost();
  await add("alpha", { code: echo, manifest: "accepts: [turns, stop_turn]" });
  await using mcp = await connectOverPipes({ sessions: host.sessions }, {});
  const tool = async (name: string, args: object) =>
    (await mcp.client.callTool({ name, arguments: { ...args } })).structuredContent as {
      data: { session_id: string } & Record<string, unknown>;
    };
  const request = { workdir, prompt: "one", keep_ms: 60_000, artifacts: "none" };
  const first = await tool("run_session", { ...request, adapter: "alpha" });
  expect(first).toMatchObject({ success: true, data: { state: "kept", turn: 1, output: "one; " } });
  const id = first.data.session_id;
  expect(await tool("send_message", { session_id: id, text: "two" }))
    .toMatchObject({ success: true, data: { session_id: id, state: "kept", turn: 2, output: "two; " } });

  const door = await openDoor({ sessions: host.sessions });
  const client = await door.client("admin");
  const three = { content: [{ type: "text" as const, text: "three" }], message_id: "m-3" };
  expect(await client.conversations.say(id, three)).toMatchObject({ message_id: "m-3", session_id: id });
  await expect.poll(async () => await client.conversations.get(id), { timeout: 20_000 })
    .toMatchObject({ state: "kept", turn: 3, turns: [{ turn: 1 }, { turn: 2 }, { turn: 3, message_ids: ["m-3"] }] });

  await using editor = connectClient({ sessions: host.sessions });
  await editor.initialize();
  await editor.agent.request("session/load", { sessionId: id, cwd: workdir, mcpServers: [] });
  expect(editor.said()).toBe("one; two; three; ");
  const ask = (text: string) =>
    editor.agent.request("session/prompt", { sessionId: id, prompt: [{ type: "text", text }] });
  expect(await ask("four")).toMatchObject({ stopReason: "end_turn", _meta: { bulkhead: { output: "four; " } } });
  const waiting = ask("wait");
  await expect.poll(() => editor.said(), { timeout: 20_000 }).toContain("wait; ");
  const next = ask("five");
  await editor.agent.notify("session/cancel", { sessionId: id });
  expect(await waiting).toMatchObject({ stopReason: "cancelled" });
  expect(await next).toMatchObject({ stopReason: "end_turn" });

  await (await client.open(id)).interrupt();
  const six = await client.conversations.say(id, { content: [{ type: "text", text: "six" }] });
  expect(six).toMatchObject({ turn: 7, state: "delivered" });
  expect(six.session_id).not.toBe(id);
  expect(await ask("seven")).toMatchObject({ stopReason: "end_turn" });
  await (await client.open(six.session_id)).interrupt();
  const events = [];
  for await (const { gseq, event } of client.conversations.events(id)) events.push({ gseq, type: event.type });
  expect(events.map(({ gseq }) => gseq)).toEqual(events.map(({ gseq }) => gseq).toSorted((a, b) => a - b));
  expect(events.filter(({ type }) => type === "turn_ended")).toHaveLength(8);
  expect(events.at(-1)!.type).toBe("session_ended");
});

test("converse takes the sessions of a host in this process", async () => {
  const { host, workdir, add } = await openHost();
  await add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const talk = await converse(host.sessions, {
    workdir,
    prompt: "one",
    keep_ms: 60_000,
    options: { adapter: "alpha", artifacts: "none" },
  });
  await talk.say("two");
  const turns = [];
  for await (const { turn, output } of talk.turns()) {
    turns.push(`${turn} ${output}`);
    if (turn === 2) await talk.end();
  }
  expect(turns).toEqual(["1 one; ", "2 two; "]);
});
