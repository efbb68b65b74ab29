import { type AdapterRun, runAdapter, type RunAdapterOptions, type ScriptedTurn } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import ClaudeCode from "../../plugins/claude-code/mod.ts";

interface Line {
  type: string;
  uuid?: string;
  priority?: string;
  message?: { content: { text: string }[] };
  request?: { subtype: string };
  response?: { response: { behavior: string } };
}
type Print = (...lines: object[]) => void;

/** Reacts to a line of the input: `name` is the text of a prompt or word, or else what it is. */
type Act = (name: string, uuid: string, print: Print) => void;

const queued = (uuid: string) => [{ type: "command_lifecycle", command_uuid: uuid, state: "queued" }];
const lifecycle = (uuid: string, state: string) => ({ type: "command_lifecycle", command_uuid: uuid, state });
const started = (uuid: string) => lifecycle(uuid, "started");
const completed = (uuid: string) => lifecycle(uuid, "completed");
const cancelled = (uuid: string) => lifecycle(uuid, "cancelled");
const init = { type: "system", subtype: "init", session_id: "s", claude_code_version: "2.1.332", model: "m" };
const said = (text: string) => ({
  type: "assistant",
  parent_tool_use_id: null,
  message: { id: text, content: [{ type: "text", text }] },
});
const call = (id: string, name = "Bash", input: object = {}) => ({
  type: "assistant",
  parent_tool_use_id: null,
  message: { id, content: [{ type: "tool_use", id, name, input }] },
});
const answered = (id: string, more: object = {}) => ({
  type: "user",
  parent_tool_use_id: null,
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
  ...more,
});
const used = { inputTokens: 100, outputTokens: 20, costUSD: 0.5 };
const result = (text: string, more: object = {}) => ({
  type: "result",
  subtype: "success",
  is_error: false,
  num_turns: 1,
  result: text,
  stop_reason: "end_turn",
  model_usage_since_last_result: { m: used },
  ...more,
});
const aborted = result("", {
  subtype: "error_during_execution",
  is_error: true,
  terminal_reason: "aborted_streaming",
  stop_reason: null,
});
/** All of a turn that says its own prompt. */
const whole = (
  name: string,
  uuid: string,
) => [...queued(uuid), started(uuid), init, said(`${name}!`), result(`${name}!`), completed(uuid)];
const steered = ["left"];
const taken = { type: "message", message_id: "turn-1-message-1", state: "taken" };
const returned = { ...taken, state: "returned" };
const began = { type: "turn_began", message_ids: ["turn-1-message-1"] };

interface Played extends AdapterRun {
  /** Events that tell of turns and messages, and words. */
  story: AdapterEvent[];
  input: Line[];
}

async function play(
  turns: ScriptedTurn[] | undefined,
  act: Act,
  { request = {}, ...options }: RunAdapterOptions & { request?: Partial<SessionRequest> } = {},
): Promise<Played> {
  const answer = (text: string, print: (text: string | null) => void) => {
    const line: Line = JSON.parse(text);
    const name = line.message?.content[0]?.text ?? line.request?.subtype ?? line.response?.response.behavior ?? "";
    act(name, line.uuid ?? "", (...lines) => print(lines.map((one) => `${JSON.stringify(one)}\n`).join("")));
  };
  const run = await runAdapter(ClaudeCode, { prompt: "one", ...request }, {
    processes: [{ binary: "claude", answer }],
    ...(turns ? { turns } : {}),
    ...options,
  });
  const [first, ...others] = run.calls.flatMap((one) => (one.call === "run" ? [one] : []));
  expect([others, first?.stdin_closed, run.error, run.violations]).toEqual([[], true, null, []]);
  const shown = ["output", "message", "turn_began", "completed", "error"];
  const input = (first?.stdin ?? "").trim().split("\n").map((line): Line => JSON.parse(line));
  return { ...run, story: run.events.filter(({ type }) => shown.includes(type)), input };
}

const output = (data: string) => ({ type: "output", data });
const done = (text: string) => ({ type: "completed", output: text });
const stopped = { type: "error", code: "interrupted" };
const two = [output("two!"), done("two!")].map((event, at) => (at === 0 ? { type: "output" } : event));

test("claude-code takes turns in one process, each with its own usage, cost and changes", async () => {
  const edit = { tool_use_result: { type: "create", filePath: "/w/a.txt" } };
  const run = await play([{}, { prompt: "two" }], (name, uuid, print) => {
    if (name === "one") {
      print(started(uuid), init, call("t", "Write"), answered("t", edit), result("", { total_cost_usd: 0.5 }));
      print(completed(uuid));
    }
    if (name === "two") print(...whole(name, uuid));
  });
  expect(run.events.filter(({ type }) => ["usage", "completed", "agent_info"].includes(type))).toMatchObject([
    { type: "agent_info", agent_session_id: "s" },
    { tokens_in: 100, tokens_out: 20, cost: 0.5 },
    { files_changed: ["/w/a.txt"], tokens_used: 120, cost: 0.5 },
    { tokens_in: 100, tokens_out: 20, cost: 0.5 },
    { output: "two!", files_changed: [], tokens_used: 120, cost: 0.5 },
  ]);
  const [one, next] = run.input.filter(({ type }) => type === "user");
  expect([one?.message?.content[0]?.text, next?.message?.content[0]?.text]).toEqual(["one", "two"]);
  expect(one?.uuid).toMatch(/^[0-9a-f]{8}-/);
  expect(next?.uuid).not.toBe(one?.uuid);
});

test("claude-code counts the cost of a turn where the agent says only its sum", async () => {
  let sum = 0;
  const run = await play([{}, { prompt: "two" }], (name, uuid, print) => {
    if (name !== "one" && name !== "two") return;
    const all = { modelUsage: { m: { inputTokens: sum += 100, costUSD: sum / 100 } } };
    print(init, said(name), result(name, { ...all, model_usage_since_last_result: null }), completed(uuid));
  });
  const usage = run.events.filter(({ type }) => type === "usage");
  expect(usage).toMatchObject([{ tokens_in: 100, cost: 1 }, { tokens_in: 100, cost: 1 }]);
});

test("claude-code ends a session of one turn with its result", async () => {
  const run = await play(undefined, (name, uuid, print) => {
    // The word that it is done never comes.
    if (name === "one") print(...whole(name, uuid).slice(0, -1));
  });
  expect(run.story).toMatchObject([output("one!"), done("one!")]);
});

/** What the agent does with a word, by the instant at which it comes. */
const instants: [string, (print: Print, own: string, word: string) => void, object[]][] = [
  ["before the first byte", (print, own, word) => {
    print(started(own), ...queued(word), init, said("a"), result("a"), completed(own));
    print(started(word), init, said("b"), result("b"), completed(word));
  }, [output("a"), done("a"), began, { type: "output" }, done("b")]],
  ["in mid-text", (print, own, word) => {
    print(started(own), init, said("a"), ...queued(word), said("b"), result("b"), completed(own), started(word));
    print(init, said("c"), result("c"), completed(word));
  }, [output("a"), { type: "output" }, done("b"), began, { type: "output" }, done("c")]],
  ["in a tool", (print, own, word) => {
    print(started(own), init, call("t"), ...queued(word), answered("t"), started(word), said("a"), completed(word));
    print(result("a"), completed(own));
  }, [taken, output("a"), done("a")]],
  ["at an open request", (print, own, word) => {
    const request = { subtype: "can_use_tool", tool_name: "Bash", input: {}, tool_use_id: "t" };
    print(started(own), init, call("t"), { type: "control_request", request_id: "q", request }, ...queued(word));
    setTimeout(() => {
      print(answered("t"), started(word), said("a"), completed(word), result("a"), completed(own));
    }, 20);
  }, [taken, output("a"), done("a")]],
  ["at the result", (print, own, word) => {
    print(started(own), init, said("a"), result("a"), ...queued(word), completed(own));
    setTimeout(() => print(started(word), init, said("b"), result("b"), completed(word)), 200);
  }, [output("a"), done("a"), began, { type: "output" }, done("b")]],
  ["with a helper running", (print, own, word) => {
    const tasks = (list: object[]) => ({ type: "system", subtype: "background_tasks_changed", tasks: list });
    print(started(own), init, said("a"), tasks([{ task_id: "h", description: "look" }]), result("a"), completed(own));
    print(...queued(word), started(word), init, said("b"), result("b"), completed(word));
    setTimeout(() => print(tasks([]), init, said("c"), result("c")), 200);
  }, [output("a"), done("a"), began, { type: "output" }, { type: "output" }, done("c")]],
];

test.each(instants)("claude-code says what became of a word that comes %s", async (_when, then, story) => {
  let own = "";
  const run = await play([{ messages: steered }, { prompt: "two" }], (name, uuid, print) => {
    if (name === "one") {
      own = uuid;
      print(...queued(uuid));
    }
    if (name === "left") then(print, own, uuid);
    if (name === "two") print(...whole(name, uuid));
  });
  expect(run.story).toMatchObject([...story, ...two]);
  expect(run.input.find(({ priority }) => priority)).toMatchObject({ priority: "next" });
});

test("claude-code gives back a word that comes after the result, or that the agent dropped", async () => {
  let tell = (): void => {};
  const messages = (async function* () {
    await new Promise<void>((resolve) => (tell = resolve));
    yield "left";
  })();
  const late = await play([{ messages }, { prompt: "two" }], (name, uuid, print) => {
    if (name === "one" || name === "two") print(...whole(name, uuid));
  }, {
    stopTurnWhen: ({ type }) => {
      if (type === "completed") tell();
      return false;
    },
  });
  expect(late.story).toMatchObject([output("one!"), done("one!"), returned, ...two]);
  const dropped = await play([{ messages: steered }], (name, uuid, print) => {
    if (name === "one") print(...queued(uuid), started(uuid), init);
    if (name === "left") print(...queued(uuid), cancelled(uuid));
    if (name === "one") setTimeout(() => print(said("a"), result("a"), completed(uuid)), 50);
  });
  expect(dropped.story).toMatchObject([returned, output("a"), done("a")]);
});

test("claude-code stops a turn and goes on in the same process, and a word that waited begins the next one", async () => {
  for (const half of [false, true]) {
    let own = "";
    let word = "";
    const run = await play([{ messages: steered }, { prompt: "two" }], (name, uuid, print) => {
      if (name === "one") print(...queued(own = uuid), started(uuid), init, said("a"));
      if (name === "left") print(...queued(word = uuid), said("b"));
      if (name === "two") print(...whole(name, uuid));
      if (name !== "interrupt") return;
      print({ type: "control_response", response: { subtype: "success" } });
      // Half a text may come as a success.
      print(half ? result("a", { stop_reason: null }) : aborted, cancelled(own));
      print(started(word), init, said("c"), result("c"), completed(word));
    }, { stopTurnWhen: (event, turn) => turn === 1 && event.type === "output" && event.data.includes("b") });
    const words = [{ type: "output" }, { type: "output" }];
    expect(run.story).toMatchObject([...words, stopped, began, { type: "output" }, done("c"), ...two]);
  }
});

test("claude-code tells a failure as what it is, though its prompt is cancelled with it", async () => {
  const run = await play([{}], (name, uuid, print) => {
    if (name !== "one") return;
    print(started(uuid), init, result("API Error: 401", { is_error: true, api_error_status: 401 }), cancelled(uuid));
  });
  expect(run.story).toMatchObject([{ type: "error", code: "unavailable" }]);
});

test("claude-code gives words back where the agent does not tell what becomes of them", async () => {
  const run = await play([{ messages: steered }, { prompt: "two" }], (name, _uuid, print) => {
    if (name === "one" || name === "two") {
      print(init);
      setTimeout(() => print(said(`${name}!`), result(`${name}!`)), 20);
    }
  });
  expect(run.story).toMatchObject([returned, output("one!"), done("one!"), ...two]);
  expect(run.input.filter(({ type }) => type === "user")).toHaveLength(2);
});

test("claude-code leaves a turn with another schema to a new process", async () => {
  const answers = (name: string, uuid: string, print: Print) => name === "one" && print(...whole(name, uuid));
  const run = await play([{}, { prompt: "two", output_schema: { type: "object" } }], answers);
  expect(run.story).toMatchObject([output("one!"), done("one!")]);
  const output_schema = { type: "object" };
  const turns = [{ output_schema }, { prompt: "two", output_schema: { type: "object" } }];
  const same = await play(turns, (name, uuid, print) => {
    if (name === "one" || name === "two") print(...whole(name, uuid));
  }, { request: { output_schema } });
  expect(same.story).toMatchObject([output("one!"), done("one!"), ...two]);
});

test("claude-code names its helper agents, and ends each once", async () => {
  const task = { type: "system", task_id: "k", tool_use_id: "h" };
  const by = { parent_tool_use_id: "h", agent_id: "k" };
  const input = { subagent_type: "general", prompt: "Look." };
  const begun = { ...task, subtype: "task_started", task_type: "local_agent" };
  const asked = { subtype: "can_use_tool", tool_name: "Bash", input: {}, tool_use_id: "t" };
  const over = { ...task, subtype: "task_notification", status: "completed", summary: "seen" };
  const usage = { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 1 };
  // A version that does not name the task of a request names the call that it is about.
  for (const [isAsync, agent_id] of [[false, "k"], [true, "k"], [true, undefined]] as const) {
    const ends = { tool_use_result: isAsync ? { isAsync } : { content: [{ type: "text", text: "seen" }], usage } };
    const run = await play(undefined, (name, uuid, print) => {
      if (name !== "one") return;
      print(...queued(uuid), started(uuid), init, call("h", "Agent", input), { ...begun, is_backgrounded: isAsync });
      if (isAsync) print(answered("h", ends));
      const request = { ...asked, agent_id };
      print({ ...call("t"), ...by }, { type: "control_request", request_id: "q", request });
      print({ ...answered("t"), ...by }, { ...said("found"), ...by }, over);
      if (!isAsync) print(answered("h", ends));
      print(said("a"), result("a"), completed(uuid));
    });
    const ofAgent = run.events.filter((event) => "agent_id" in event);
    const told = { type: "agent_ended", outcome: "completed", output: "seen" };
    expect(ofAgent).toMatchObject([
      { type: "agent_started", agent_id: "h", call_id: "h", name: "general", prompt: "Look." },
      { type: "tool_call", call_id: "t" },
      { type: "permission_request", call_id: "t", agent_id: "h", title: "[sub-agent general] Bash" },
      { type: "tool_result", call_id: "t" },
      { type: "progress", message: "found" },
      isAsync ? told : { ...told, usage: { tokens_in: 6, tokens_out: 2, tokens_cached: 1, cost: null } },
    ]);
    expect(run.last).toMatchObject(done("a"));
  }
});
