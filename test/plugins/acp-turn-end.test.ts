import { describe, expect, test } from "vitest";
import AcpAgent from "../../plugins/acp/mod.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { habitsOf } from "../../plugins/acp/habits.ts";
import { turnEnd, turnFailure } from "../../plugins/acp/turn-end.ts";
import { UpdateReader } from "../../plugins/acp/update-reader.ts";

/** A turn of an agent of this name. */
interface Turn {
  name?: string;
  updates?: JsonFields[];
  answer?: JsonFields;
  prompt?: string;
  rejected?: boolean;
}

function play({ name, updates = [], answer = {}, prompt = "go", rejected = false }: Turn): AdapterEvent[] {
  const reader = new UpdateReader();
  reader.begin("s", habitsOf(name));
  const events = updates.flatMap((update) =>
    reader.read({ method: "session/update", params: { sessionId: "s", update } }) ?? []
  );
  return [...events, ...turnEnd({ stopReason: "end_turn", ...answer }, reader.end(), { prompt, rejected })];
}

const say = (text: string): JsonFields => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});
const think = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } };
const used = { sessionUpdate: "tool_call", toolCallId: "1", name: "Bash", status: "completed", rawInput: { a: 1 } };
const usage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
const thread = (codex: JsonFields): JsonFields => ({ sessionUpdate: "session_info_update", _meta: { codex } });
const broken = thread({ threadStatus: { type: "systemError" } });
const retried = thread({
  error: {
    message: "Reconnecting... 1/5",
    codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: 429 } },
    additionalDetails: "exceeded retry limit, last status: 429 Too Many Requests",
    willRetry: true,
  },
});
const noUsage = { usage: null, _meta: { quota: { token_count: null, model_usage: [] } } };
const zero = { _meta: { quota: { token_count: { input_tokens: 0, output_tokens: 0 }, model_usage: [] } } };
const refused = "Error: Failed to get response from the AI model; retried 5 times. Last error: 429 Try again in 2s.";

describe("a turn that failed is not completed, whatever its stop reason", () => {
  test.each<[string, Turn, string, boolean]>([
    ["nothing at all", {}, "unavailable", true],
    ["nothing but thoughts and blanks", { updates: [think, say("\n\n")] }, "unavailable", true],
    [
      "codex, a limit",
      { name: "codex-acp", updates: [retried, broken, say("last status: 429")], answer: noUsage },
      "rate_limit",
      true,
    ],
    [
      "codex, a limit that no text tells",
      { name: "codex-acp", updates: [say("Well"), retried, broken] },
      "rate_limit",
      true,
    ],
    [
      "codex, a limit after work",
      { name: "codex-acp", updates: [used, broken, say("usage limit")], answer: { usage } },
      "rate_limit",
      true,
    ],
    [
      "codex, a prompt too long",
      { name: "codex-acp", updates: [retried, broken, say("prompt is too long")] },
      "context_overflow",
      false,
    ],
    ["codex, for another reason", { name: "codex-acp", updates: [broken, say("It broke.")] }, "fatal", false],
    [
      "codex, no tokens and no state",
      { name: "codex-acp", updates: [say("Hi")], answer: noUsage },
      "unavailable",
      true,
    ],
    ["copilot, a limit", { name: "Copilot", updates: [say(refused)] }, "rate_limit", true],
    [
      "copilot, a limit after work",
      { name: "Copilot", updates: [used, say(refused)], answer: { usage } },
      "rate_limit",
      true,
    ],
    [
      "copilot, a bad key",
      { name: "Copilot", updates: [say("Info: Retrying..."), say("Error: Authentication failed (HTTP 401).")] },
      "unavailable",
      false,
    ],
    [
      "gemini, an answer that broke off",
      { name: "gemini-cli", updates: [say("partial")], answer: zero },
      "unavailable",
      true,
    ],
    [
      "kimi, a prompt too long",
      { name: "Kimi Code CLI", updates: [say("Compacting conversation context…"), say("Compaction cancelled.")] },
      "unavailable",
      true,
    ],
    ["a stop reason that is not there", { updates: [say("Hi")], answer: { stopReason: undefined } }, "fatal", false],
    ["a stop reason that is not known", { updates: [say("Hi")], answer: { stopReason: "paused" } }, "fatal", false],
    ["a refusal in capitals", { updates: [say("Hi")], answer: { stopReason: "REFUSAL" } }, "refused", false],
    ["kimi, silent after a tool", { name: "Kimi Code CLI", updates: [say("I will."), used] }, "unavailable", true],
  ])("%s", (_name, turn, code, recoverable) => {
    const last = play(turn).at(-1);
    expect(last).toMatchObject({ type: "error", code, recoverable });
    expect(last).toHaveProperty("message", expect.stringMatching(/\w/));
    expect(JSON.stringify(last)).not.toContain("undefined");
  });
});

test.each([
  ["droid, a bad key", { message: "Internal error: Agent error", data: "401 Not a key." }, "unavailable"],
  ["droid, a limit", { message: "Internal error: Agent error", data: "429 Try again." }, "rate_limit"],
  ["kilo, a bad key", { message: "Internal error: No.", data: { errorName: "APIError" } }, "unavailable"],
  ["kilo, a limit", { message: "Too many requests.", data: { errorName: "APIError" } }, "rate_limit"],
  ["cline, a bad key", { message: "Internal error: No.", data: { message: "No." } }, "unavailable"],
  ["cline, a session that is gone", { message: "Resource not found: 1", data: { uri: "1" } }, "fatal"],
  ["cline, a plan's limit", { message: "The plan's limit is reached.", data: { message: "The plan's" } }, "rate_limit"],
  ["codex, an answer that broke off", { message: "stream disconnected before completion" }, "unavailable"],
  ["qwen, an answer that broke off", { message: "Unterminated string in JSON at position 23" }, "unavailable"],
  ["copilot, an answer that broke off", { message: "Failed to parse chat-completions stream chunk" }, "unavailable"],
  ["another", { message: "Internal error: No.", data: { errorName: "UnknownError", message: "No." } }, "fatal"],
])("an error answer of %s says what its data says", (name, error, code) => {
  const reader = new UpdateReader();
  reader.begin("s", habitsOf(name));
  const [event] = turnFailure({ code: -32603, ...error }, reader.end());
  expect(event).toMatchObject({ type: "error", code });
  if ("data" in error && typeof error.data === "string") {
    expect(event).toHaveProperty("message", `${error.message}: ${error.data}`);
  }
});

describe("a turn that went well is completed", () => {
  test.each<[string, Turn]>([
    ["words alone", { updates: [say("done")] }],
    ["a stop reason in another spelling", { updates: [say("done")], answer: { stopReason: "END-TURN" } }],
    ["a tool alone", { updates: [used] }],
    ["a plan alone", { updates: [{ sessionUpdate: "plan", entries: [] }] }],
    ["tokens alone", { answer: { usage } }],
    ["a silent command of the agent's own", { prompt: "/clear", answer: zero, name: "gemini-cli" }],
    ["codex, whose provider counts no tokens", {
      name: "codex-acp",
      updates: [thread({ threadStatus: { type: "idle" } }), say("done")],
      answer: noUsage,
    }],
    ["codex, after a retry", {
      name: "codex-acp",
      updates: [retried, say("done"), thread({ threadStatus: { type: "idle" } })],
      answer: { usage },
    }],
    ["copilot, whose provider counts no tokens", {
      name: "Copilot",
      updates: [say("The line says: "), say("no Error: here")],
    }],
    ["kimi, told no", { name: "Kimi Code CLI", updates: [say("I will."), used], rejected: true }],
    ["an agent that speaks as copilot does", { name: "another", updates: [say(refused)] }],
  ])("%s", (_name, turn) => {
    expect(play(turn).at(-1)).toMatchObject({ type: "completed", success: true });
  });
});

test("what codex tells of its thread is told as progress, and a session without a title as nothing", () => {
  const events = play({
    name: "codex-acp",
    updates: [retried, broken, { sessionUpdate: "session_info_update", updatedAt: "now" }],
  });
  expect(events.filter(({ type }) => type === "progress")).toEqual([
    { type: "progress", message: "Reconnecting... 1/5: exceeded retry limit, last status: 429 Too Many Requests" },
    { type: "progress", message: "Its thread is in the state systemError." },
  ]);
});

test("a notice of copilot's own is progress, and no part of its answer", () => {
  const call = { sessionUpdate: "tool_call", toolCallId: "1", name: "Bash", status: "pending", rawInput: { a: 1 } };
  const retrying = "Info: Request failed due to a transient API error. Retrying...";
  const updates = [say(retrying), say("I will."), call, say("Info: /work/a"), used, say("Info: "), say("done")];
  const events = play({ name: "Copilot", updates });
  expect(events.flatMap((event) => event.type === "progress" ? event.message : [])).toEqual([
    retrying,
    "Info: /work/a",
  ]);
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "Info: done" });
  expect(play({ updates }).some(({ type }) => type === "progress")).toBe(false);
});

test("a notice of claude-agent-acp, to a client without notices, is progress and no part of its answer", () => {
  const warning = "**Warning:** auto mode is not eligible.";
  const notice = { ...say(warning), _meta: { claudeCode: { kind: "informational", level: "warning" } } };
  const events = play({ updates: [say("done"), notice], answer: { usage } });
  expect(events).toContainEqual({ type: "progress", message: warning });
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "done" });
});

test("measurements that gemini prints on its error output are dropped, and no other line", () => {
  const agent = new AcpAgent();
  expect(agent.isNoise("[STARTUP] Phase 'cli_startup' was started but never ended.")).toBe(true);
  expect(agent.isNoise("Error: [STARTUP] failed")).toBe(false);
});

test.each([["eur", "EUR"], ["USD", "USD"], ["credits", undefined], ["12$", undefined]])(
  "a cost in %j is one in %j, and takes no tokens away",
  (told, currency) => {
    const cost = { sessionUpdate: "usage_update", used: 1, size: 9, cost: { amount: 0.25, currency: told } };
    const events = play({ updates: [say("x"), cost], answer: { usage } });
    const last = events.findLast(({ type }) => type === "usage");
    expect(last).toMatchObject({ tokens_in: 5, cost: currency === undefined ? null : 0.25 });
    expect(last).toHaveProperty("tokens_out", 2);
    expect(currency === undefined || JSON.stringify(last).includes(currency)).toBe(true);
  },
);

describe("the usage of a turn", () => {
  const usages = (turn: Turn): unknown[] => play(turn).filter(({ type }) => type === "usage");
  const counted = (inputTokens: number): JsonFields => ({
    ...say(""),
    _meta: { usage: { inputTokens, outputTokens: 2, totalTokens: inputTokens + 2, thoughtTokens: 0 } },
  });

  test("is the sum of what chunks report, each of one call of the model", () => {
    const updates = [say("I will."), counted(5), used, say("done"), counted(9)];
    expect(usages({ updates })).toMatchObject([{ scope: "session", tokens_in: 14, tokens_out: 4 }]);
    const failed = new UpdateReader();
    failed.begin("s");
    failed.read({ method: "session/update", params: { sessionId: "s", update: counted(5) } });
    expect(turnFailure({ code: 429, message: "no" }, failed.end())).toMatchObject([{ tokens_in: 5 }, {
      type: "error",
    }]);
  });

  test("is that of all models where it is more: it counts sub-agents too", () => {
    const row = (inputTokens: number, cachedInputTokens: number) => ({
      totalTokens: inputTokens + cachedInputTokens + 9,
      inputTokens,
      cachedInputTokens,
      cachedWriteTokens: 7,
      outputTokens: 2,
    });
    const [large, small] = [{ model: "large", token_count: row(10, 4) }, { model: "small", token_count: row(1, 0) }];
    const answer = { usage, _meta: { quota: { token_count: row(1, 0), model_usage: [large, small] } } };
    expect(usages({ updates: [say("done")], answer })).toEqual([
      { type: "usage", scope: "session", tokens_in: 29, tokens_out: 4, tokens_cached: 4, cost: null },
    ]);
    const less = { usage, _meta: { quota: { model_usage: [{ model: "m", token_count: { input_tokens: 1 } }] } } };
    expect(usages({ updates: [say("done")], answer: less })).toMatchObject([{ tokens_in: 5, tokens_out: 2 }]);
  });

  test("says that it is a part with agents that call their model for a title besides", () => {
    for (
      const [name, partial] of [["OpenCode", true], ["@agentclientprotocol/claude-agent-acp", true], ["", undefined]]
    ) {
      const [told] = usages({ name: name as string, updates: [say("done")], answer: { usage } });
      expect((told as { partial?: true }).partial).toBe(partial);
    }
  });

  test("is not known where the answer has the last call alone, and there were others", () => {
    expect(usages({ name: "OpenCode", updates: [used, say("done")], answer: { usage } })).toEqual([]);
    expect(usages({ name: "OpenCode", updates: [say("done")], answer: { usage } })).toMatchObject([{ tokens_in: 5 }]);
    expect(usages({ updates: [used, say("done")], answer: { usage } })).toMatchObject([{ tokens_in: 5 }]);
  });
});
