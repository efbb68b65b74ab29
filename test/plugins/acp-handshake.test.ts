import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AdapterContext, RunningProcess } from "../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { MemoryTurns } from "../../plugin-sdk/testing/memory-turns.ts";
import { Conversation } from "../../plugins/acp/conversation.ts";
import { agentOptions } from "../../plugins/acp/options.ts";
import { Handshake } from "../../plugins/acp/handshake.ts";
import { processTransport } from "../../plugins/acp/process-transport.ts";
import { BatchQueue } from "../../plugin-sdk/batch-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const answers: Record<string, object> = {
  initialize: { protocolVersion: 1, agentInfo: { name: "a" }, agentCapabilities: {} },
  "session/new": { sessionId: "s" },
};
const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } };

/** Pieces of output that come instead of the answer to a method: each after some time. Null stands for the answer. */
type Said = [ms: number, piece: string | null];

/** One session with an agent that does so; tells its events, its error and how long it took. */
async function talk(of: string, said: Said[]) {
  const pieces = new BatchQueue<string>();
  const asked: Record<string, unknown> = {};
  const stdout = (async function* () {
    for await (const list of pieces.batches()) yield* list;
  })();
  const put = (message: object) => pieces.push([`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`]);
  const write = async (text: string) => {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown };
    asked[method] = params;
    const result = answers[method] ?? { stopReason: "end_turn" };
    if (method === "session/prompt") put({ method: "session/update", params: { sessionId: "s", update } });
    if (method !== of) return put({ id, result });
    for (const [ms, piece] of said) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (piece === null) put({ id, result });
      else pieces.push([piece]);
    }
  };
  const stdin = {
    write: (text: string) => Promise.resolve(void write(text)),
    close: () => Promise.resolve(pieces.end()),
  };
  const transport = processTransport({ stdout, stdin } as unknown as RunningProcess);
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const ctx = { workdir: "/", sleep, permission: () => Promise.resolve(null), signal: { aborted: false } };
  const conversation = new Conversation(transport, {
    ctx: { ...ctx, turns: new MemoryTurns({ prompt: "go" }) } as unknown as AdapterContext,
    options: agentOptions({ command: "agent" }),
  });
  const events: AdapterEvent[] = [];
  const started = Date.now();
  let error: unknown = null;
  let isOver = false;
  const read = async () => {
    for await (const batch of conversation.run({ prompt: "go", workdir: "/" })) events.push(...batch);
  };
  void read().catch((thrown) => error = thrown).finally(() => isOver = true);
  while (!isOver) await vi.advanceTimersByTimeAsync(500);
  return { events, error, asked, seconds: Math.round((Date.now() - started) / 1000) };
}

const printed = (events: AdapterEvent[]) =>
  events.flatMap((event) => event.type === "output" ? [event.data] : []).join("").replace("Done.", "");

test("a session tells its agent that it takes notices, which else would be in the answer", async () => {
  const { asked, error } = await talk("none", []);
  expect(error).toBe(null);
  expect(asked["initialize"]).toMatchObject({ clientCapabilities: { session: { notices: {} } } });
});

describe.each(["initialize", "session/new"])("an agent's answer to %s", (method) => {
  test.each<[string, string]>([
    ["words", "Welcome! Open https://login.example to log in.\n"],
    ["a question without a line's end", "Do you trust this folder? [y/N] "],
    ["another protocol", '{"type":"error","message":"no login"}\n'],
  ])("that is %s ends the session soon, and is quoted", async (_what, text) => {
    const { error, events, seconds } = await talk(method, [[10, text]]);
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining(text.trim()) });
    expect((error as Error).message).toContain(method);
    expect(events.some(({ type }) => type === "output" || type === "unparsed")).toBe(true);
    expect(seconds).toBeGreaterThan(15);
    expect(seconds).toBeLessThan(30);
  });

  test("that never comes, while words do, ends the session too", async () => {
    const { error, seconds } = await talk(
      method,
      Array.from({ length: 100 }, (): Said => [5000, "Waiting for you…\r"]),
    );
    expect(error).toMatchObject({ code: "unavailable" });
    expect(seconds).toBeGreaterThan(60);
    expect(seconds).toBeLessThan(150);
  });

  test("that comes after a slow start with lines of a log is awaited", async () => {
    const log = Array.from({ length: 6 }, (): Said => [15_000, "[info] loading the model\n"]);
    const { error, events } = await talk(method, [...log, [15_000, null]]);
    expect(error).toBeNull();
    expect(events.at(-1)).toMatchObject({ type: "completed", output: "Done." });
    expect(printed(events)).toBe("[info] loading the model\n".repeat(6));
  });

  test("that comes late without a word before is awaited", async () => {
    const { error, events } = await talk(method, [[300_000, null]]);
    expect(error).toBeNull();
    expect(events.at(-1)).toMatchObject({ type: "completed" });
  });
});

test("words on the error output alone end a greeting that is not answered, later than others do", async () => {
  for (const [lines, atLeast, most] of [[["Error: log in first.\n"], 80, 100], [["a\n", "b\n"], 80, 110]] as const) {
    const handshake = new Handshake();
    const started = Date.now();
    const answer = handshake.answer("initialize", new Promise(() => {})).catch((thrown: unknown) => thrown);
    for (const line of lines) {
      handshake.hearError(line);
      await vi.advanceTimersByTimeAsync(5000);
    }
    let error: unknown = null;
    void answer.then((thrown) => error = thrown);
    while (error === null) await vi.advanceTimersByTimeAsync(1000);
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining(lines[0].trim()) });
    expect((Date.now() - started) / 1000).toBeGreaterThan(atLeast);
    expect((Date.now() - started) / 1000).toBeLessThan(most);
  }
  const handshake = new Handshake();
  const answer = handshake.answer("initialize", new Promise((resolve) => setTimeout(resolve, 400_000, "late")));
  for (let line = 0; line < 10; line++) {
    handshake.hearError("downloading\n");
    await vi.advanceTimersByTimeAsync(40_000);
  }
  expect(await answer).toBe("late");
});

test("half a message is never shown, however long its end takes", async () => {
  const whole = JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update } });
  const { error, events } = await talk("session/prompt", [[0, whole.slice(0, 40)], [9000, `${whole.slice(40)}\n`], [
    0,
    null,
  ]]);
  expect(error).toBeNull();
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "Done.Done." });
});

test("messages that come as one batch are each taken", async () => {
  const said = { jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update } };
  const over = { jsonrpc: "2.0", id: 2, result: { stopReason: "end_turn" } };
  const { events } = await talk("session/prompt", [[0, `[1, 2]\n${JSON.stringify([said, over])}\n`]]);
  expect(events.filter(({ type }) => type === "unparsed")).toEqual([{ type: "unparsed", data: [1, 2] }]);
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "Done.Done." });
});

test("a message that is too long is told as too_large, and the next one is read", async () => {
  const long = `{"jsonrpc":"2.0","x":"${"f".repeat(9_000_000)}"}\n`;
  const { events } = await talk("session/prompt", [[0, long], [0, null]]);
  const told = events.filter(({ type }) => type === "unparsed");
  expect(told).toMatchObject([{ data: { code: "too_large", beginning: expect.stringMatching(/^\{"jsonrpc"/) } }]);
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "Done." });
});
