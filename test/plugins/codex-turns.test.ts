import { describe, expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { atOnce, item, notice, over, recordedIn, runServer, type Sent, server } from "./codex-server.ts";

const fixtures = new URL("../fixtures/codex/", import.meta.url);
const asked: Partial<SessionRequest> = { approval: "ask" };

function sentTo(method: string, sent: readonly Sent[]): Sent[] {
  return sent.filter((one) => one.method === method);
}

/** The adapter's answers to Codex. */
function answersIn(sent: readonly Sent[]): unknown[] {
  return sent.filter((one) => !("method" in one)).map(({ result, error }) => result ?? error);
}

function typesOf(events: readonly AdapterEvent[]): string[] {
  return events.map(({ type }) => type);
}

test.each([["interrupted", "interrupted"], ["paused", "fatal"], [undefined, "fatal"]])(
  "a turn that ends with the status %s is %s",
  async (status, code) => {
    const { last } = await runServer(
      server((id) => [item({ type: "agentMessage", text: "Hi" }), over(id, { status })]),
    );
    expect(last).toMatchObject({ type: "error", code, message: expect.not.stringContaining("undefined") });
  },
);

describe("permission", () => {
  const command = item({ id: "c", type: "commandExecution", command: "rm x" }, "started");
  const ask = (method: string, params: object) => ({ id: 7, method, params: { threadId: "thread", ...params } });
  const forCommand = ask("item/commandExecution/requestApproval", { itemId: "c", command: "rm x" });

  test.each(["asks-command", "asks-patch", "denied-command", "denied-patch"])(
    "is asked for once the call is told, and the answer reaches Codex: %s",
    async (name) => {
      const { events, sent, violations } = await runServer(await recordedIn(new URL(`${name}.jsonl`, fixtures)), {
        request: asked,
        options: { answers: { "codex-0": name.startsWith("asks") ? "accept" : "decline" } },
      });
      expect(violations).toEqual([]);
      const call = events.find((event) => event.type === "tool_call")!;
      const request = events.find((event) => event.type === "permission_request")!;
      expect(request).toMatchObject({ call_id: call.call_id, tool: call.tool, kind: call.kind });
      expect(request.options.map(({ kind }) => kind)).toEqual(
        name.endsWith("patch") ? ["allow_once", "allow_always", "reject_once"] : ["allow_once", "reject_once"],
      );
      expect(answersIn(sent)).toEqual([{ decision: name.startsWith("asks") ? "accept" : "decline" }]);
      expect(sentTo("thread/start", sent)).toMatchObject([{ params: { approvalPolicy: "untrusted" } }]);
      expect(events).toContainEqual(
        expect.objectContaining({ type: "tool_result", success: name.startsWith("asks") }),
      );
    },
  );

  test.each<[Partial<SessionRequest>, string]>([
    [{}, "never"],
    [{ approval: "all", tool_approvals: { "*": "allow" } }, "never"],
    [{ approval: "edits" }, "untrusted"],
    [{ allowed_tools: [] }, "untrusted"],
    [{ tool_approvals: { shell: "ask" } }, "untrusted"],
  ])("%j is the policy %s", async (request, approvalPolicy) => {
    const { sent } = await runServer(server((id) => [over(id)]), { request });
    expect(sentTo("thread/start", sent)).toMatchObject([{ params: { approvalPolicy } }]);
  });

  test("nobody's answer is a no", async () => {
    let end: object[] = [];
    const { sent } = await runServer(
      server((id) => (end = [over(id)], [command, forCommand]), () => end),
      { request: asked },
    );
    expect(answersIn(sent)).toEqual([{ decision: "decline" }]);
  });

  test("inside a read-only sandbox no change of a file is permitted, and a command is said to run outside of it", async () => {
    let end: object[] = [];
    const { sent, events } = await runServer(
      server(
        (id) => (end = [over(id)], [command, forCommand, { ...ask("item/fileChange/requestApproval", {}), id: 8 }]),
        ({ id }) => id === 8 ? end : [],
      ),
      { request: { ...asked, params: { sandbox: "read-only" } }, options: { answers: { "codex-7": "accept" } } },
    );
    expect(events.filter(({ type }) => type === "permission_request")).toMatchObject([
      { title: "Run outside of the read-only sandbox: rm x" },
    ]);
    expect(answersIn(sent)).toEqual(expect.arrayContaining([{ decision: "accept" }, { decision: "decline" }]));
  });

  test("a request that Codex takes back is withdrawn", async () => {
    const { events } = await runServer(
      server((id) => [atOnce(command, forCommand, notice("serverRequest/resolved", { requestId: 7 })), over(id)]),
      { request: asked },
    );
    expect(events).toContainEqual({ type: "request_withdrawn", request_id: "codex-7" });
  });

  test("a server's tool is asked for by its name, and forms and further rights are declined", async () => {
    const elicit = (id: number, _meta: object) => ({
      ...ask("mcpServer/elicitation/request", { serverName: "s", mode: "form", message: "May it?", _meta }),
      id,
    });
    let end: object[] = [];
    let answered = 0;
    const { sent, events } = await runServer(
      server((id) => {
        end = [over(id)];
        return [
          item({ id: "m", type: "mcpToolCall", server: "s", tool: "t", arguments: {} }, "started"),
          elicit(1, { codex_approval_kind: "mcp_tool_call" }),
          elicit(2, {}),
          { ...ask("item/permissions/requestApproval", {}), id: 3 },
          { ...ask("item/tool/call", {}), id: 4 },
        ];
      }, () => ++answered === 4 ? end : []),
      { request: asked, options: { answers: { "codex-1": "accept" } } },
    );
    expect(events.filter(({ type }) => type === "permission_request")).toMatchObject([{ tool: "s.t", call_id: "m" }]);
    expect(
      Object.fromEntries(
        sent.flatMap(({ id, method, result, error }) => method === undefined ? [[id, result ?? error]] : []),
      ),
    ).toMatchObject({
      1: { action: "accept" },
      2: { action: "decline" },
      3: { permissions: {} },
      4: { code: -32601 },
    });
  });

  test("a question goes to a person, and one for a secret does not", async () => {
    const questions = [
      { id: "q", question: "Which?", isSecret: false, options: [{ label: "This" }, { label: "That" }] },
      { id: "p", question: "The password?", isSecret: true, options: null },
    ];
    let end: object[] = [];
    const { sent, events } = await runServer(
      server((id) => (end = [over(id)], [ask("item/tool/requestUserInput", { questions })]), () => end),
      { options: { answers: { "codex-7-q": "That" } } },
    );
    expect(events).toContainEqual({
      type: "question",
      request_id: "codex-7-q",
      question: "Which?",
      options: ["This", "That"],
    });
    expect(answersIn(sent)).toEqual([{ answers: { q: { answers: ["That"] } } }]);
  });
});

describe("turns", () => {
  const usage = (turnId: string, all: number) =>
    notice("thread/tokenUsage/updated", {
      turnId,
      tokenUsage: { total: { inputTokens: all, outputTokens: 0 }, last: { inputTokens: 10, outputTokens: 0 } },
    });

  test("follow one another in one thread of one program, each with its own answer and tokens", async () => {
    let all = 0;
    const { events, sent, calls, violations } = await runServer(
      server((id) => [item({ type: "agentMessage", text: `answer of ${id}` }), usage(id, all += 10), over(id)]),
      { request: { prompt: "one" }, options: { turns: [{}, { prompt: "two" }] } },
    );
    expect(violations).toEqual([]);
    expect(calls.filter(({ call }) => call === "run").length).toBe(1);
    expect(sentTo("turn/start", sent).map(({ params }) => params?.["input"])).toMatchObject([
      [{ text: "one" }],
      [{ text: "two" }],
    ]);
    expect(events.flatMap((event) => event.type === "completed" ? event.output : [])).toEqual([
      "answer of turn-1",
      "answer of turn-2",
    ]);
    expect(events.flatMap((event) => event.type === "usage" ? event.tokens_in : [])).toEqual([10, 10]);
  });

  test("a turn after the program's end is the next entry's: nothing is said of it", async () => {
    const { events, violations, sent } = await runServer(
      (message) => message.method === "turn/start" && sent2(message) ? [null] : first(message),
      { options: { turns: [{}, { prompt: "two" }] } },
    );
    expect(typesOf(events)).toEqual(["agent_info", "completed"]);
    expect([violations, sentTo("turn/start", sent).length]).toEqual([[], 2]);
  });
  const first = server((id) => [over(id)]);
  const sent2 = ({ params }: Sent) => JSON.stringify(params).includes("two");

  test("one that is stopped ends its calls and its open requests, and the next one begins", async () => {
    const opened = item({ id: "c", type: "commandExecution", command: "sleep" }, "started");
    const answers = server(
      (id) => id === "turn-1" ? [opened] : [item({ id: "c", type: "commandExecution" }), over(id)],
      ({ id, method }) =>
        method === "turn/interrupt" ? [{ id, result: {} }, over("turn-1", { status: "interrupted" })] : [],
    );
    const { events, sent, violations } = await runServer(answers, {
      options: { turns: [{}, { prompt: "go on" }], stopTurnWhen: ({ type }) => type === "tool_call" },
    });
    expect(violations).toEqual([]);
    expect(sentTo("turn/interrupt", sent)).toMatchObject([{ params: { threadId: "thread", turnId: "turn-1" } }]);
    expect(events.slice(1)).toMatchObject([
      { type: "tool_call" },
      { type: "tool_result", success: false },
      { type: "error", code: "interrupted" },
      { type: "completed" },
    ]);
  });

  test("a recorded one that is stopped while its command runs ends in order", async () => {
    const { events, violations } = await runServer(await recordedIn(new URL("stopped-shell.jsonl", fixtures)), {
      options: { turns: [{}], stopTurnWhen: ({ type }) => type === "tool_call" },
    });
    expect(violations).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "error", code: "interrupted" });
  });

  test("an interrupted session asks Codex to stop its turn, and ends its program", async () => {
    const answers = server(
      () => [item({ type: "agentMessage", text: "working" })],
      ({ id, method }) =>
        method === "turn/interrupt" ? [{ id, result: {} }, over("turn-1", { status: "interrupted" })] : [],
    );
    const { events, sent, calls } = await runServer(answers, {
      options: { interruptWhen: ({ type }) => type === "output" },
    });
    expect(sentTo("turn/interrupt", sent).length).toBe(1);
    expect(calls[0]).toMatchObject({ killed: true });
    expect(events.at(-1)).toMatchObject({ type: "error", code: "interrupted" });
  });

  test("a word into a turn is taken once Codex has read it", async () => {
    const answers = server(
      () => [],
      ({ id, method, params }) => {
        if (method !== "turn/steer") return [];
        const clientId = params?.["clientUserMessageId"];
        return [
          { id, result: { turnId: "turn-1" } },
          item({ type: "userMessage", clientId }, "started"),
          over("turn-1"),
        ];
      },
    );
    const { events, sent } = await runServer(answers, { options: { turns: [{ messages: ["and that"] }] } });
    expect(sentTo("turn/steer", sent)).toMatchObject([
      { params: { expectedTurnId: "turn-1", clientUserMessageId: "turn-1-message-1", input: [{ text: "and that" }] } },
    ]);
    expect(events.slice(1)).toMatchObject([
      { type: "message", message_id: "turn-1-message-1", state: "taken" },
      { type: "completed" },
    ]);
  });

  test("a word that comes too late, or that a stop overtakes, is given back", async () => {
    const late = server(
      () => [],
      ({ id, method }) =>
        method === "turn/steer"
          ? [{ id, error: { code: -32600, message: "no active turn to steer" } }, over("turn-1")]
          : [],
    );
    const returned = { type: "message", message_id: "turn-1-message-1", state: "returned" };
    const options = { turns: [{ messages: ["late"] }] };
    expect((await runServer(late, { options })).events.slice(1)).toMatchObject([returned, { type: "completed" }]);
    const overtaken = server(
      () => [],
      ({ id, method }) => {
        if (method === "turn/steer") return [{ id, result: {} }, item({ type: "agentMessage", text: "working" })];
        return method === "turn/interrupt" ? [{ id, result: {} }, over("turn-1", { status: "interrupted" })] : [];
      },
    );
    const stopped = await runServer(overtaken, {
      options: { ...options, stopTurnWhen: ({ type }) => type === "output" },
    });
    expect(stopped.events.slice(2)).toMatchObject([returned, { type: "error", code: "interrupted" }]);
    // A turn that ended may have kept it: nobody knows.
    const kept = server(
      () => [],
      ({ id, method }) => method === "turn/steer" ? [{ id, result: {} }, over("turn-1")] : [],
    );
    expect(typesOf((await runServer(kept, { options })).events)).toEqual(["agent_info", "completed"]);
  });

  test("a word that comes right after the last word is given back before the next turn", async () => {
    let give = (): void => {};
    const ended = new Promise<void>((resolve) => give = resolve);
    const words = async function* () {
      await ended;
      yield "late";
    };
    const given: [number, string][] = [];
    await runServer(server((id) => [over(id)]), {
      options: {
        turns: [{ messages: words() }, { prompt: "two" }],
        stopTurnWhen(event, turn) {
          if (event.type === "completed") give();
          if (event.type === "message") given.push([turn, event.state]);
          return false;
        },
      },
    });
    expect(given).toEqual([[1, "returned"]]);
  });

  test("one that Codex begins by itself is stopped", async () => {
    const own = notice("turn/started", { turn: { id: "own" } });
    const { sent, events } = await runServer(
      server((id) => id === "turn-1" ? [atOnce(over(id), own), over("own")] : [over(id)]),
      { options: { turns: [{}, { prompt: "two" }] } },
    );
    expect(sentTo("turn/interrupt", sent)).toMatchObject([{ params: { turnId: "own" } }]);
    expect(typesOf(events)).toEqual(["agent_info", "completed", "completed"]);
  });
});

test("codex is given the effort and the plan of a turn, in its own words", async () => {
  const models = { data: [{ model: "gpt-5.5", supportedReasoningEfforts: [{ reasoningEffort: "medium" }] }] };
  const { sent } = await runServer(
    server((id) => [over(id)], ({ id, method }) => method === "model/list" ? [{ id, result: models }] : []),
    { request: { effort: "max" }, options: { turns: [{}, { prompt: "b", plan: true }, { prompt: "c", plan: false }] } },
  );
  const mode = (name: string) => ({
    mode: name,
    settings: { model: "gpt-5.5", reasoning_effort: "medium", developer_instructions: null },
  });
  const fields = sentTo("turn/start", sent).map(({ params: { effort, collaborationMode } = {} }) => ({
    ...(effort === undefined ? {} : { effort }),
    ...(collaborationMode === undefined ? {} : { collaborationMode }),
  }));
  expect(fields).toEqual([{ effort: "medium" }, { collaborationMode: mode("plan") }, {
    collaborationMode: mode("default"),
  }]);
});

test("a helper's request for permission is asked with its name", async () => {
  let end: object[] = [];
  const started = { id: "other", parentThreadId: "thread", agentNickname: "Ada" };
  const { events } = await runServer(
    server((id) => {
      end = [over(id)];
      const params = { threadId: "other", itemId: "c", command: "rm x" };
      return [
        { method: "thread/started", params: { thread: started } },
        { id: 7, method: "item/commandExecution/requestApproval", params },
      ];
    }, () => end),
    { request: asked },
  );
  expect(events.filter(({ type }) => type === "permission_request")).toMatchObject([
    { title: "[sub-agent Ada] Run: rm x", agent_id: "other" },
  ]);
});

test("codex goes on in a copy of a thread, up to the end of a turn, and names the ends of turns that are kept", async () => {
  const { sent, events } = await runServer(
    server(
      (id) => [over(id)],
      ({ id, method }) =>
        method === "thread/fork" ? [{ id, result: { thread: { id: "thread" }, model: "gpt-5.5" } }] : [],
    ),
    { request: { continue_from: "before", fork: { at: "turn-9" } }, options: { turns: [{}] } },
  );
  expect(sentTo("thread/fork", sent)).toMatchObject([{ params: { threadId: "before", lastTurnId: "turn-9" } }]);
  expect(sentTo("thread/resume", sent)).toEqual([]);
  expect(events).toContainEqual(expect.objectContaining({ type: "agent_info", agent_session_id: "thread" }));
  expect(events.at(-1)).toMatchObject({ type: "completed", agent_ref: "turn-1" });
});
