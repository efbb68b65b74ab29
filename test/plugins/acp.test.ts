import { describe, expect, test } from "vitest";
import { AgentConnection, textParam } from "../../plugins/acp/agent-connection.ts";
import { BatchQueue } from "../../plugins/acp/batch-queue.ts";
import { failureOf, failureOfStop } from "../../plugins/acp/failures.ts";
import { agentOptions } from "../../plugins/acp/options.ts";
import { PermissionAnswers } from "../../plugins/acp/permission-answers.ts";
import { commandLine } from "../../plugins/acp/terminals.ts";
import { UpdateReader } from "../../plugins/acp/update-reader.ts";
import { usageOf } from "../../plugins/acp/usage.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { printed } from "./recorded-lines.ts";

function chunk(text: string, messageId?: string): AdapterEvent[] | null {
  return reader.read({
    method: "session/update",
    params: {
      sessionId: "s",
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId },
    },
  });
}

const untold = { cost: null, counted: null, isPart: false, callsBesides: false };

let reader = new UpdateReader();

function begun(): UpdateReader {
  reader = new UpdateReader();
  reader.begin("s");
  return reader;
}

test("messages are kept apart by their ids, and the last one is the answer", () => {
  begun();
  const events = [chunk("Hel", "a"), chunk("lo", "a"), chunk("there", "b")].flatMap((one) => one ?? []);
  expect(printed(events)).toBe("Hello\nthere");
  expect(reader.end()).toMatchObject({ output: "there", files_changed: [], usage: untold });
});

test("what another session says is a helper's word, and what is no update is not known", () => {
  begun();
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } };
  const other = (sessionId: string) => reader.read({ method: "session/update", params: { sessionId, update } });
  const said = (text: string) => [{ type: "progress", message: `[sub-agent ${text}` }];
  expect([other("one"), other("one"), other("two")]).toEqual([[], [], said("one] xx")]);
  expect(reader.end()).toMatchObject({ output: "", events: said("two] x") });
  for (const params of [undefined, null, [], {}, { sessionId: "s" }, { sessionId: "s", update: 7 }]) {
    expect(reader.read({ method: "session/update", params })).toBe(null);
  }
  expect(reader.read({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "plan" } } })).toBe(
    null,
  );
  expect(reader.read({ method: "other/thing" })).toBe(null);
  expect(reader.read({ method: "other/thing", id: 1 })).toEqual([]);
});

test.each([
  [{ usage: { inputTokens: 5, outputTokens: 2, cachedReadTokens: 3, cachedWriteTokens: 1, totalTokens: 11 } }, 9, 2, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, cachedReadTokens: 3, totalTokens: 7 } }, 5, 2, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, thoughtTokens: 4, totalTokens: 11 } }, 5, 6, null],
  [{ usage: { inputTokens: 5, outputTokens: 6, thoughtTokens: 4, cachedReadTokens: 0, totalTokens: 11 } }, 5, 6, 0],
  [{ usage: { inputTokens: 5, outputTokens: 6, thoughtTokens: 4, cachedReadTokens: 3, totalTokens: 14 } }, 8, 6, 3],
  [{ usage: { inputTokens: 5, outputTokens: 2, thoughtTokens: 4 } }, 5, 6, null],
  [{ _meta: { quota: { token_count: { input_tokens: 5, output_tokens: 2 } } } }, 5, 2, null],
])("the usage of %j", (answer, tokens_in, tokens_out, tokens_cached) => {
  const expected = { scope: "session", tokens_in, tokens_out, tokens_cached, cost: null };
  expect(usageOf(answer, untold)).toMatchObject(expected);
});

test.each([
  [{ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } }],
  [{ usage: null, _meta: { quota: { token_count: { input_tokens: 0, output_tokens: 0 } } } }],
])("a turn that was not counted has no usage instead of 0: %j", (answer) => {
  expect(usageOf(answer, untold)).toBe(null);
});

test("an answer without usage has none, and one of a single model names it", () => {
  expect(usageOf({ stopReason: "end_turn" }, { ...untold, cost: { cost: 1, currency: "USD" } })).toBe(null);
  const quota = { token_count: { input_tokens: 1, output_tokens: 1 }, model_usage: [{ model: "m" }] };
  expect(usageOf({ _meta: { quota } }, untold)).toMatchObject({ model: "m" });
});

test.each([
  [{ code: -32603, message: "Internal error", data: { errorKind: "rate_limit" } }, "rate_limit", true],
  [{ code: -32603, message: "Internal error", data: { errorKind: "server_error" } }, "unavailable", true],
  [{ code: -32603, message: "Internal error", data: { details: "fetch failed" } }, "unavailable", true],
  [{ code: -32603, message: "Your request hit a content filter" }, "refused", false],
  [{ code: -32601, message: "Method not found" }, "fatal", false],
])("failureOf reads %j as %s", (error, code, recoverable) => {
  expect(failureOf(error)).toMatchObject({ type: "error", code, recoverable });
});

test("a turn that ends for a reason that nobody knows has failed", () => {
  expect(failureOfStop("end_turn", { rejected: true })).toBe(null);
  expect(failureOfStop("cancelled", { rejected: true })).toMatchObject({ code: "refused" });
  expect(failureOfStop("max_turn_requests", { rejected: false })).toMatchObject({ code: "turn_limit" });
  expect(failureOfStop("moon", { rejected: false })).toMatchObject({ code: "fatal" });
});

test.each([
  [{ command: "ls -l | wc" }, "ls -l | wc"],
  [{ command: "echo", args: ["it's", "$HOME"] }, `'echo' 'it'\\''s' '$HOME'`],
  [{ command: "env", env: [{ name: "A", value: "b c" }] }, "export A='b c'; env"],
])("the command %j is the line %s", (order, line) => {
  expect(commandLine(order)).toBe(line);
});

test("a variable that is no name is refused", () => {
  expect(() => commandLine({ command: "ls", env: [{ name: "A;rm", value: "" }] })).toThrow("not the name");
});

test("options name one agent", () => {
  expect(agentOptions({ agent: "gemini", files: true })).toMatchObject({
    reach: { command: "gemini", args: ["--acp"] },
    files: true,
    terminals: false,
    missingFileIsEmpty: true,
  });
  expect(agentOptions({ command: "mine", args: ["acp"] })).toMatchObject({
    reach: { command: "mine", args: ["acp"] },
    missingFileIsEmpty: false,
  });
  expect(() => agentOptions({})).toThrow("none of them");
  expect(() => agentOptions({ agent: "nobody" })).toThrow("nobody");
});

test("answers reach their requests, whichever comes first, and nobody waits when it is over", async () => {
  const yes = { id: "y", label: "Yes", kind: "allow_once" } as const;
  const answers = new PermissionAnswers({ permission: (id) => Promise.resolve(id === "a" ? yes : null) });
  for (const id of ["a", "b", "c", "e"]) answers.begin(id);
  const early = answers.wait("a");
  answers.ask("a");
  expect(await early).toEqual(yes);
  expect(answers.rejected).toBe(false);
  const no = answers.wait("b");
  answers.ask("b");
  expect([await no, answers.rejected]).toEqual([null, true]);
  // Its id is free again.
  expect(await answers.wait("a")).toBe(null);
  const back = answers.wait("e");
  expect([answers.withdraw("e"), answers.withdraw("e"), await back]).toEqual([true, false, "withdrawn"]);
  const never = answers.wait("c");
  answers.close();
  expect([await never, await answers.wait("d")]).toEqual(["closed", "closed"]);
});

test("a queue holds whoever adds until its events were taken, and leaves nobody waiting", async () => {
  const queue = new BatchQueue<AdapterEvent>();
  const event: AdapterEvent = { type: "progress", message: "x" };
  const batches = queue.batches();
  queue.push([event, event]);
  let drained = false;
  const waiting = queue.drained().then(() => drained = true);
  await Promise.resolve();
  expect(drained).toBe(false);
  expect((await batches.next()).value).toEqual([event, event]);
  await waiting;
  queue.push([event]);
  const left = queue.drained();
  await batches.return();
  await left;
  queue.push([event]);
  expect((await batches.next()).done).toBe(true);
});

test("a queue that ends with a failure gives what came before it", async () => {
  const queue = new BatchQueue<AdapterEvent>();
  queue.push([{ type: "progress", message: "x" }]);
  queue.end({ thrown: new Error("over") });
  const batches = queue.batches();
  expect((await batches.next()).value).toHaveLength(1);
  await expect(batches.next()).rejects.toThrow("over");
});

describe("a connection with an agent", () => {
  const open = () => {
    const sent: Record<string, unknown>[] = [];
    const connection = new AgentConnection((message) => Promise.resolve(void sent.push({ ...message })));
    return { sent, connection, flushed: () => new Promise((resolve) => setTimeout(resolve)) };
  };

  test("brings each answer to its request, an error as what it says", async () => {
    const { sent, connection, flushed } = open();
    const asked = [connection.request("a", {}), connection.request("b", { x: 1 })];
    await flushed();
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: 0, method: "a", params: {} },
      { jsonrpc: "2.0", id: 1, method: "b", params: { x: 1 } },
    ]);
    connection.receive({ jsonrpc: "2.0", id: 1, error: { code: 429, message: "Slow down", data: { of: 1 } } });
    connection.receive({ jsonrpc: "2.0", id: 7, result: "of nothing that was asked" });
    connection.receive({ jsonrpc: "2.0", id: 0, result: { y: 2 } });
    expect(await asked[0]).toEqual({ y: 2 });
    await expect(asked[1]).rejects.toMatchObject({ code: 429, message: "Slow down", data: { of: 1 } });
  });

  test("fails what waits when the agent is gone, and what comes later", async () => {
    const { sent, connection, flushed } = open();
    const asked = connection.request("a", {});
    connection.end();
    await expect(asked).rejects.toThrow("closed");
    await expect(connection.request("b", {})).rejects.toThrow("closed");
    await expect(connection.notify("c", {})).rejects.toThrow("closed");
    connection.receive({ jsonrpc: "2.0", id: 5, method: "d" });
    await flushed();
    expect(sent.map(({ method }) => method)).toEqual(["a"]);
  });

  test("answers what the agent asks, in the protocol's codes", async () => {
    const { sent, connection, flushed } = open();
    connection.onRequest("known", ({ id, params }) => ({ id, at: textParam(params, "path") }));
    connection.onRequest("broken", () => Promise.reject(new Error("of ours, with a path of this machine")));
    connection.receive({ jsonrpc: "2.0", id: "x", method: "known", params: { path: "/a" } });
    connection.receive({ jsonrpc: "2.0", id: 2, method: "known", params: [] });
    connection.receive({ jsonrpc: "2.0", id: 3, method: "other" });
    connection.receive({ jsonrpc: "2.0", id: 4, method: "broken" });
    connection.receive({ jsonrpc: "2.0", id: {}, method: "known" });
    await flushed();
    expect(sent.sort((a, b) => String(a["id"]) < String(b["id"]) ? -1 : 1)).toMatchObject([
      { id: 2, error: { code: -32602 } },
      { id: 3, error: { code: -32601 } },
      { id: 4, error: { code: -32603, message: "Internal error" } },
      { id: "x", result: { id: "x", at: "/a" } },
    ]);
  });

  test("sends one message after the other", async () => {
    const order: string[] = [];
    const connection = new AgentConnection(async (message) => {
      const { method } = message as { method: string };
      order.push(`${method} begins`);
      if (method === "slow") await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`${method} ends`);
    });
    await Promise.all([connection.notify("slow", {}), connection.notify("quick", {})]);
    expect(order).toEqual(["slow begins", "slow ends", "quick begins", "quick ends"]);
  });
});
