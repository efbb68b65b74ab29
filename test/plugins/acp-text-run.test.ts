import { describe, expect, test } from "vitest";
import type { AdapterContext } from "../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { MemoryTurns } from "../../plugin-sdk/testing/memory-turns.ts";
import { Conversation } from "../../plugins/acp/conversation.ts";
import { agentOptions } from "../../plugins/acp/options.ts";
import { readRun } from "../../plugins/acp/text-run.ts";
import { BatchQueue } from "../../plugin-sdk/batch-queue.ts";

/** Of a session that is stopped: it waits for nothing that comes late. */
const ctx = {
  workdir: "/",
  sleep: () => new Promise(() => {}),
  permission: () => Promise.resolve(null),
  signal: { aborted: true },
};

/** A turn of an agent of this name that says these lines; `atOnce` says whether it sends them in one piece. */
async function turn(lines: readonly string[], { name, atOnce }: { name: string; atOnce: boolean }) {
  const sent = new BatchQueue<string[]>();
  const flattened = (async function* () {
    for await (const lists of sent.batches()) yield* lists;
  })();
  const answers: Record<string, object> = {
    initialize: { protocolVersion: 1, agentInfo: { name }, agentCapabilities: {} },
    "session/new": { sessionId: "s" },
  };
  const send = (text: string) => {
    const { id, method } = JSON.parse(text) as { id: number; method: string };
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] ?? { stopReason: "end_turn" } });
    const told = method === "session/prompt" ? [...lines, answer] : [answer];
    for (const list of atOnce ? [told] : told.map((one) => [one])) sent.push([list]);
    return Promise.resolve();
  };
  const conversation = new Conversation({ messages: flattened, send, close: () => Promise.resolve(sent.end()) }, {
    ctx: { ...ctx, turns: new MemoryTurns({ prompt: "go" }) } as unknown as AdapterContext,
    options: agentOptions({ command: "agent" }),
  });
  const events: AdapterEvent[] = [];
  for await (const batch of conversation.run({ prompt: "go", workdir: "/" })) events.push(...batch);
  return events;
}

const line = (update: JsonFields, more: JsonFields = {}, sessionId = "s"): string =>
  JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update }, ...more });
const chunk = (text: unknown, more: JsonFields = {}, kind = "agent_message_chunk"): JsonFields => ({
  sessionUpdate: kind,
  content: { type: "text", text },
  ...more,
});
const say = (text: unknown, more: JsonFields = {}): string => line(chunk(text, more));
const think = (text: string): string => line(chunk(text, {}, "agent_thought_chunk"));
const held = line({ sessionUpdate: "tool_call", toolCallId: "1", name: "Bash", status: "pending" });
const done = line({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" });
const used = { usage: { inputTokens: 3, outputTokens: 4 } };

describe("texts that come at once give the events that they give one by one", () => {
  test.each<[string, string[], string?]>([
    ["of one message", [say("a"), say("b"), say("\n"), say("c")]],
    ["of a message and thoughts between", [say("a"), think("b"), think("c"), say("d"), say("e")]],
    ["of messages with ids", ["1", "1", "2", "2", "1"].map((messageId) => say("x", { messageId }))],
    ["of messages, of which some have ids", [say("a"), say("b", { messageId: "1" }), say("c"), say("d")]],
    ["around a tool call", [say("a"), held, say("b"), say("c"), done, say("d"), say("e")]],
    ["with a call that is held back", [held, think("a"), think("b")]],
    ["with usage beside them", [say("a", { _meta: used }), say("b", { _meta: used }), say("c")]],
    ["that are empty, or no text", [say(""), say("a"), say(""), say(null), say("b"), line({ sessionUpdate: "plan" })]],
    ["of another session", [say("a"), line(chunk("b"), {}, "other"), say("c")]],
    ["with an id", [say("a"), line(chunk("b"), { id: 7 }), say("c")]],
    ["of another protocol", [say("a"), line(chunk("b"), { jsonrpc: "1.0" }), say("c")]],
    ["between lines that are no messages", ["printed", say("a"), "", "{", say("b"), "[]", say("c"), "printed"]],
    ["with notices of the agent's own", [say("a"), say("Info: it failed. Retrying..."), say("b")], "copilot"],
    ["with the answer to a command", [say("a"), say("Context: 1 / 2\nSession total: no LLM calls yet")], "kimi"],
  ])("%s", async (_, lines, name = "stub") => {
    const [whole, single] = [await turn(lines, { name, atOnce: true }), await turn(lines, { name, atOnce: false })];
    expect(whole).toEqual(single);
    expect(whole.some(({ type }) => type === "output" || type === "thinking")).toBe(true);
  });
});

describe("readRun", () => {
  test("takes lines up to the first other one, and gives what it holds", () => {
    const lines = [held, say("a"), say("b"), done, say("c")];
    const run = { kind: "agent_message_chunk", messageId: undefined };
    expect(readRun(lines, 0, "s")).toEqual({ run: null, rest: JSON.parse(held) });
    expect(readRun(lines, 1, "s")).toEqual({ run: { ...run, texts: ["a", "b"] }, rest: JSON.parse(done) });
    expect(readRun(lines, 4, "s")).toEqual({ run: { ...run, texts: ["c"] }, rest: undefined });
  });

  test.each([
    ["a text of another session", line(chunk("b"), {}, "other")],
    ["one with an id", line(chunk("b"), { id: 0 })],
    ["one of another message", say("b", { messageId: "2" })],
    ["one with usage", say("b", { _meta: used })],
    ["a thought", think("b")],
    ["an empty text", say("")],
    ["no text", say({})],
    ["no JSON", "b"],
  ])("ends before %s", (_, other) => {
    expect(readRun([say("a"), other], 0, "s").run?.texts).toEqual(["a"]);
  });
});
