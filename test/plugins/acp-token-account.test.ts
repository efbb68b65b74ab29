import { expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { habitsOf } from "../../plugins/acp/habits.ts";
import { TokenAccount } from "../../plugins/acp/token-account.ts";
import { turnEnd } from "../../plugins/acp/turn-end.ts";
import { UpdateReader } from "../../plugins/acp/update-reader.ts";

const say = (text: string): JsonFields => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const call = { sessionUpdate: "tool_call", toolCallId: "1", name: "Bash", status: "pending", rawInput: { a: 1 } };
const done = { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" };
const total = (calls: number): string =>
  `Context: 120 / 1000 tokens (12%)\nSession total: ${
    calls ? `${100 * calls} input, ${20 * calls} output` : "no LLM calls yet"
  }`;
const uncounted = "Context: 66 / 1000 tokens (7%)\nSession total: 0 input, 0 output";

/** A turn of kimi: what it sends, and what it says of its tokens each time that it is asked. */
interface Turn {
  updates: JsonFields[];
  answers: string[];
  isResumed?: boolean;
  /** Leaves no time for answers between updates. */
  atOnce?: true;
}

async function play({ updates, answers, isResumed = false, atOnce }: Turn) {
  const { account: command, ...habits } = habitsOf("Kimi Code CLI");
  const asked: string[] = [];
  const account = new TokenAccount(async (prompt) => {
    asked.push(prompt);
    await settled();
    take(say(answers.shift() ?? ""));
  });
  const reader = new UpdateReader({ account });
  const events: AdapterEvent[] = [];
  const take = (update: JsonFields) => {
    events.push(...reader.read({ method: "session/update", params: { sessionId: "s", update } }) ?? []);
  };
  await account.begin(command, { isResumed });
  reader.begin("s", habits);
  for (const update of updates) {
    take(update);
    if (!atOnce) await settled();
  }
  const summary = reader.end(await account.end());
  return {
    asked,
    events: [...events, ...turnEnd({ stopReason: "end_turn" }, summary, { prompt: "go", rejected: false })],
  };
}

/** Until all that waits has gone on, and what waited for that. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("an answer that broke off after its first words is no success", async () => {
  const { asked, events } = await play({ updates: [say("It is ")], answers: [total(0)] });
  expect(events.at(-1)).toMatchObject({ type: "error", code: "unavailable", recoverable: true });
  expect(asked).toEqual(["/usage"]);
  expect(JSON.stringify(events)).not.toContain("Session total");
});

test("nor is one that broke off after the first words that follow a tool's result", async () => {
  const { events } = await play({ updates: [call, done, say("It is ")], answers: [total(1), total(1)] });
  expect(events.at(-1)).toMatchObject({ type: "error", code: "unavailable" });
});

test("a turn whose calls are all counted is completed, with the tokens of all", async () => {
  const { events } = await play({ updates: [call, done, say("It is done.")], answers: [total(1), total(2)] });
  expect(events.slice(-2)).toMatchObject([
    { type: "usage", scope: "session", tokens_in: 200, tokens_out: 40 },
    { type: "completed", output: "It is done." },
  ]);
});

test("a session that goes on counts its own turn alone", async () => {
  const { events } = await play({ updates: [say("It is done.")], answers: [total(3), total(4)], isResumed: true });
  expect(events.slice(-2)).toMatchObject([{ tokens_in: 100, tokens_out: 20 }, { type: "completed" }]);
  const broken = await play({ updates: [say("It is ")], answers: [total(3), total(3)], isResumed: true });
  expect(broken.events.at(-1)).toMatchObject({ type: "error", code: "unavailable" });
});

test("where the agent does not tell in time or at all, a turn is judged by the other signs", async () => {
  const late = await play({ updates: [call, done, say("Done.")], answers: [total(2), total(2)], atOnce: true });
  expect(late.events.at(-1)).toMatchObject({ type: "completed" });
  for (
    const answer of [
      "Unknown ACP command: /usage. Use /help to see available commands.",
      "/usage failed: no",
      uncounted,
    ]
  ) {
    const { events } = await play({ updates: [call, done, say("Done.")], answers: [answer, answer] });
    expect(events.at(-1)).toMatchObject({ type: "completed", output: "Done." });
  }
});

test("what the model itself says in that form is its answer", async () => {
  const { events } = await play({ updates: [say(total(1))], answers: [total(1)] });
  expect(events.at(-1)).toMatchObject({ type: "completed", output: total(1) });
});

test("an answer that comes after its question was cut off is no word of the agent, once", async () => {
  const { account: command } = habitsOf("Kimi Code CLI");
  const account = new TokenAccount(() => Promise.reject(new Error("cancelled")));
  await account.begin(command, { isResumed: true });
  expect(account.isAsked).toBe(true);
  expect([account.take("It is done."), account.take(total(1)), account.take(total(1))]).toEqual([false, true, false]);
  expect(account.isAsked).toBe(false);
});
