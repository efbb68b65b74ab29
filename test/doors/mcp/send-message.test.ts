import { expect, test } from "vitest";
import { noConversations } from "../../sessions/host/no-conversations.ts";
import type { Conversations } from "../../../core/sessions/host/session-host.ts";
import type { SaidMessage } from "../../../plugin-sdk/conversation.ts";
import { type Script, ScriptedHost, type ScriptedSession } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { connectOverPipes } from "./mcp-client.ts";

const request = { workdir: "/work", prompt: "go", keep_ms: 60_000 };
const usage = { tokens_in: 1, tokens_out: 1, cost: null, turns: 1, tool_calls: 0 };

/** What a session tells of a turn that is over. */
const ended = (turn: number, output: string, more: object = {}) =>
  ({
    type: "turn_ended",
    turn,
    outcome: "completed",
    stop_reason: "end_turn",
    output,
    usage,
    artifacts: [],
    checkpoint: null,
    ...more,
  }) as never;

const kept: Script = async (session) => {
  session.emit(ended(1, "one"), "host");
  await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
};

/** A tool's client, of a host whose newest session takes messages as the test says. */
async function connected(take: (session: ScriptedSession, messageId: string) => SaidMessage["state"], script = kept) {
  const host = new ScriptedHost(script);
  const calls: unknown[] = [];
  const conversations: Conversations = {
    ...noConversations,
    get: async (id) => ({ conversation_id: id, head: host.sessions.at(-1)!.id }) as never,
    async say(_, { content, delivery }, caller) {
      calls.push({ content, delivery, client: caller?.client });
      const session = host.sessions.at(-1)!;
      return { message_id: "m1", session_id: session.id, state: take(session, "m1") };
    },
    async withdraw(_, messageId) {
      calls.push(`withdraw ${messageId}`);
      throw new Error("It is delivered.");
    },
    stop: async () => void calls.push("stop"),
  };
  Object.assign(host, { conversations });
  const tester = await connectOverPipes({ sessions: host }, {});
  const call = async (name: string, args: object, options: object = {}) =>
    (await tester.client.callTool({ name, arguments: { ...args } }, options)).structuredContent as {
      success: boolean;
      error?: string;
      data: { session_id: string } & Record<string, unknown>;
    };
  return { host, calls, call, [Symbol.asyncDispose]: () => tester[Symbol.asyncDispose]() };
}

test("send_message answers with the turn of its message, and run_session with its first turn", async () => {
  await using talk = await connected((session, message_id) => {
    session.emit(
      { type: "message_accepted", message_id, delivery: "steer", content: [], by: { client: "mcp" } },
      "host",
    );
    session.emit(ended(2, "of another"), "host");
    session.emit({ type: "message_delivered", message_id, turn: 3, how: "new_turn" }, "host");
    setTimeout(() => session.emit(ended(3, "three"), "host"), 10);
    return "pending";
  });
  const first = await talk.call("run_session", request);
  expect(first).toMatchObject({ success: true, data: { state: "kept", turn: 1, output: "one" } });
  const { session_id } = first.data;
  expect(await talk.call("send_message", { session_id, text: "more", delivery: "steer" }))
    .toMatchObject({ success: true, data: { session_id, state: "kept", turn: 3, output: "three" } });
  expect(talk.calls).toEqual([{ content: [{ type: "text", text: "more" }], delivery: "steer", client: "mcp" }]);
});

test("send_message does not wait for a message that is dropped, or that waits for an answer", async () => {
  await using talk = await connected((session, message_id) => {
    session.emit({ type: "message_dropped", message_id, reason: "turn_failed" }, "host");
    return "pending";
  }, async (session) => {
    session.emit(ended(1, "one"), "host");
    await session.ask({ type: "question", request_id: "q", question: "Which?" });
  });
  const { data: { session_id } } = await talk.call("run_session", request);
  await until(() => talk.host.sessions[0]!.waiting.length > 0);
  expect(await talk.call("send_message", { session_id, text: "more" }))
    .toMatchObject({ success: true, data: { state: "waiting", waiting: [{ request_id: "q" }] } });
  await talk.call("answer", { session_id, request_id: "q", choice: "this", wait: false });
  await until(() => talk.host.sessions[0]!.waiting.length === 0);
  expect(await talk.call("send_message", { session_id, text: "more" }))
    .toMatchObject({ success: false, error_type: "conflict", details: { message_id: "m1" } });
});

test("send_message tells a failed turn as a failure, and its cancel stops the turn alone", async () => {
  let fails = true;
  await using talk = await connected((session, message_id) => {
    session.emit({ type: "message_delivered", message_id, turn: 2, how: "injected" }, "host");
    if (fails) session.emit(ended(2, "", { outcome: "error", stop_reason: "timeout" }), "host");
    return "delivered";
  });
  const { data: { session_id } } = await talk.call("run_session", request);
  expect(await talk.call("send_message", { session_id, text: "more" }))
    .toMatchObject({ success: false, data: { state: "kept", turn: 2, stop_reason: "timeout" } });
  fails = false;
  const leaving = new AbortController();
  const call = talk.call("send_message", { session_id, text: "more" }, { signal: leaving.signal });
  await until(() => talk.calls.length === 2);
  leaving.abort();
  await expect(call).rejects.toThrow();
  await until(() => talk.calls.length === 4);
  expect(talk.calls.slice(2)).toEqual(["withdraw m1", "stop"]);
  expect(talk.host.sessions[0]!.signal.aborted).toBe(false);
});
