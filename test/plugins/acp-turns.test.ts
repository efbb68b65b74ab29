import { describe, expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { type AdapterRun, probeAdapter, runAdapter } from "../../plugin-sdk/testing/run-adapter.ts";
import type { ScriptedTurn } from "../../plugin-sdk/testing/scripts.ts";
import AcpAgent from "../../plugins/acp/mod.ts";
import { agentOf, type Script } from "./wire-agent.ts";

const url = "ws://agent.example/acp";

interface Talk {
  turns: ScriptedTurn[];
  stopTurnWhen?: (event: AdapterEvent, turn: number) => boolean;
  answers?: Record<string, string>;
}

async function talk(script: Script, options: Talk): Promise<AdapterRun & { wire: ReturnType<typeof agentOf>["wire"] }> {
  const { wire, answer } = agentOf(script);
  const run = await runAdapter(AcpAgent, {}, {
    config: { custom: { url } },
    sockets: { [url]: { answer } },
    ...options,
  });
  return { ...run, wire };
}

const two = [{}, { prompt: "And more." }];
const lastWords = ({ events }: AdapterRun) =>
  events.filter(({ type }) => type === "completed" || type === "error") as (AdapterEvent & { output?: string })[];
const types = ({ events }: AdapterRun) => events.map(({ type }) => type);

describe.concurrent("an ACP agent's turns", () => {
  test("go over one connection, one prompt after the other, each with an answer of its own", async () => {
    const ran = await talk({ prompt: ({ say, end, turn }) => [say(`Answer ${turn}.`), end()] }, {
      turns: [{}, { prompt: "Two." }, { prompt: "Three." }],
    });
    expect(ran).toMatchObject({ error: null, violations: [] });
    expect(ran.wire).toMatchObject({ prompts: ["Say hello.", "Two.", "Three."], most: 1, open: 0 });
    expect(ran.wire.methods.filter((one) => one !== "session/prompt")).toEqual(["initialize", "session/new"]);
    expect(lastWords(ran).map(({ output }) => output)).toEqual(["Answer 1.", "Answer 2.", "Answer 3."]);
    expect(ran.calls.find(({ call }) => call === "connect")).toMatchObject({ closed: true });
  });

  test("one in an entry that is not kept ends with the connection", async () => {
    const { wire, answer } = agentOf({ prompt: ({ say, end }) => [say("Done."), end()] });
    const ran = await runAdapter(AcpAgent, {}, { config: { custom: { url } }, sockets: { [url]: { answer } } });
    expect(ran).toMatchObject({ error: null, violations: [], last: { type: "completed", output: "Done." } });
    expect(wire.prompts).toEqual(["Say hello."]);
  });

  test("have what comes after the answer to their prompt", async () => {
    const ran = await talk({ prompt: ({ say, end, turn }) => [say(`Part ${turn}, `), end(), say("and more.")] }, {
      turns: two,
    });
    expect(ran.violations).toEqual([]);
    expect(lastWords(ran).map(({ output }) => output)).toEqual(["Part 1, and more.", "Part 2, and more."]);
  });

  test("count what the session's cost grew by, and the tokens of their own answer", async () => {
    const spent = [0.5, 0.75, 1.75];
    const ran = await talk({
      prompt: ({ update, say, end, turn }) => [
        say("Yes."),
        update({ sessionUpdate: "usage_update", used: 1, size: 9, cost: { amount: spent[turn - 1], currency: "USD" } }),
        end({ stopReason: "end_turn", usage: { inputTokens: turn, outputTokens: 1, totalTokens: turn + 1 } }),
      ],
    }, { turns: [...two, { prompt: "Three." }] });
    const totals = ran.events.filter((event) => event.type === "usage" && event.tokens_in !== null);
    expect(totals).toMatchObject([1, 2, 3].map((tokens_in, at) => ({ tokens_in, cost: [0.5, 0.25, 1][at] })));
  });

  test("keep their calls apart where the agent counts them anew", async () => {
    const call = { sessionUpdate: "tool_call", toolCallId: "1", kind: "read", status: "completed", rawInput: { a: 1 } };
    const ran = await talk({ prompt: ({ update, say, end }) => [update(call), say("Read."), end()] }, { turns: two });
    expect(ran.violations).toEqual([]);
    expect(ran.events.flatMap((event) => event.type === "tool_result" ? [event.call_id] : [])).toEqual(["1", "1#2"]);
  });

  test("that fail leave the next one its agent", async () => {
    const ran = await talk({
      prompt: ({ say, end, turn }) => [
        say(turn === 1 ? "No." : "Done."),
        end({ stopReason: turn === 1 ? "refusal" : "end_turn" }),
      ],
    }, { turns: two });
    expect(ran.violations).toEqual([]);
    expect(lastWords(ran)).toMatchObject([{ code: "refused" }, { type: "completed", output: "Done." }]);
  });

  test("whose session cannot be opened are over with it", async () => {
    const { wire, answer } = agentOf({ prompt: () => [] });
    const refuse = (text: string) => {
      const { id, method } = JSON.parse(text) as JsonFields;
      if (method !== "session/new") return answer(text);
      return [JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "Log in first" } })];
    };
    const ran = await runAdapter(AcpAgent, {}, {
      config: { custom: { url } },
      sockets: { [url]: { answer: refuse } },
      turns: two,
    });
    expect(ran).toMatchObject({ violations: [], last: { type: "error", code: "unavailable" } });
    expect(wire.prompts).toEqual([]);
  });

  test("do not have what comes between them as their answer", async () => {
    const ran = await talk({
      prompt: ({ say, end, turn }) => [say(`Answer ${turn}.`), end()],
    }, { turns: two });
    expect(types(ran)).toEqual(["progress", "agent_info", "output", "completed", "output", "completed"]);
  });
});

describe.concurrent("a word into an ACP agent's turn", () => {
  const message = { message_id: "turn-1-message-1" };

  test("is taken where the agent says so, and its answer is the turn's", async () => {
    const ran = await talk({
      steers: true,
      prompt: ({ say, end, turn }) => turn === 1 ? [say("I begin.")] : [say("Second."), end()],
      steer: ({ reply, say, end }) => [reply({ outcome: "injected" }), say(" And so I do."), end()],
    }, { turns: [{ messages: ["Be brief."] }, { prompt: "And more." }] });
    expect(ran).toMatchObject({ violations: [], error: null });
    expect(ran.wire.steers).toEqual([{
      sessionId: "s",
      prompt: [{ type: "text", text: "Be brief." }],
      _meta: { steering: { idleBehavior: "promptRequired" } },
    }]);
    expect(ran.events).toContainEqual({ type: "message", ...message, state: "taken" });
    expect(lastWords(ran).map(({ output }) => output)).toEqual(["I begin. And so I do.", "Second."]);
    expect(ran.wire).toMatchObject({ prompts: ["Say hello.", "And more."], most: 1 });
  });

  test.each<[string, Partial<Script>, number]>([
    [
      "the turn was over",
      { steers: true, steer: ({ reply, end }) => [reply({ outcome: "promptRequired" }), end()] },
      1,
    ],
    ["the agent cannot", { steers: false, prompt: ({ say, end }) => [say("Done."), end()] }, 0],
    ["the agent answers with an error", {
      steers: true,
      steer: ({ message: { id }, end }) => [{ jsonrpc: "2.0", id, error: { code: -32600, message: "no" } }, end()],
    }, 1],
  ])("is given back where %s", async (_why, script, steers) => {
    const ran = await talk({
      prompt: ({ say, end, turn }) => turn === 1 ? [say("Done.")] : [say("Done."), end()],
      ...script,
    }, {
      turns: [{ messages: ["Be brief."] }, { prompt: "And more." }],
    });
    expect(ran).toMatchObject({ violations: [], error: null });
    expect(ran.events).toContainEqual({ type: "message", ...message, state: "returned" });
    expect(ran.wire.steers).toHaveLength(steers);
    // Before the last word, so that it can be the next turn's.
    expect(types(ran).indexOf("message")).toBeLessThan(types(ran).indexOf("completed"));
    expect(lastWords(ran)).toHaveLength(2);
  });

  test("that the agent never answers has no outcome, and the turn ends without it", async () => {
    const ran = await talk({
      steers: true,
      prompt: ({ say, end, turn }) => turn === 1 ? [say("Done.")] : [say("Done."), end()],
      steer: ({ end }) => [end()],
    }, { turns: [{ messages: ["Be brief."] }, { prompt: "And more." }] });
    expect(ran.violations).toEqual([]);
    expect(types(ran)).not.toContain("message");
    expect(lastWords(ran).map(({ output }) => output)).toEqual(["Done.", "Done."]);
  });

  test("that comes right after the last word is given back before the next turn", async () => {
    let give = (): void => {};
    const over = new Promise<void>((resolve) => give = resolve);
    const late = async function* () {
      await over;
      yield "Be brief.";
    };
    const given: [number, string][] = [];
    const ran = await talk({ prompt: ({ say, end }) => [say("Done."), end()] }, {
      turns: [{ messages: late() }, { prompt: "And more." }],
      stopTurnWhen(event, turn) {
        if (event.type === "completed") give();
        if (event.type === "message") given.push([turn, event.state]);
        return false;
      },
    });
    expect(ran).toMatchObject({ violations: [], error: null });
    expect(given).toEqual([[1, "returned"]]);
  });

  test("waits for the one before it", async () => {
    let open = 0;
    const ran = await talk({
      steers: true,
      prompt: ({ say }) => [say("I begin.")],
      steer: ({ reply, end }) => {
        open++;
        return [reply({ outcome: "injected" }), ...open === 2 ? [end()] : []];
      },
    }, { turns: [{ messages: ["One.", "Two."] }] });
    expect(ran.violations).toEqual([]);
    expect(ran.wire.steers.map(({ prompt }) => (prompt as { text: string }[])[0]!.text)).toEqual(["One.", "Two."]);
    expect(ran.events.filter(({ type }) => type === "message")).toHaveLength(2);
  });

  test("that comes with a request of the agent's open answers no request", async () => {
    const ran = await talk({
      steers: true,
      prompt: ({ ask }) => [ask(7, { toolCallId: "c", title: "Run it", kind: "execute" })],
      steer: ({ reply }) => [reply({ outcome: "injected" })],
      answered: ({ message: { result }, update, say, end }) => [
        update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" }),
        say(JSON.stringify(result)),
        end(),
      ],
    }, { turns: [{ messages: ["Yes, do it."] }], answers: { "permission-7": "yes" } });
    expect(ran.violations).toEqual([]);
    expect(lastWords(ran)[0]!.output).toBe(`{"outcome":{"outcome":"selected","optionId":"yes"}}`);
  });
});

describe.concurrent("a stop of an ACP agent's turn", () => {
  const stops = (type: AdapterEvent["type"]) => (event: AdapterEvent, turn: number) =>
    turn === 1 && event.type === type;
  const cancelled = { stopReason: "cancelled" };

  test("is told the agent, and the next one goes over the same connection", async () => {
    const ran = await talk({
      prompt: ({ say, end, turn }) => turn === 1 ? [say("I beg")] : [say("Done."), end()],
      cancel: ({ end }) => [end(cancelled)],
    }, { turns: two, stopTurnWhen: stops("output") });
    expect(ran).toMatchObject({ violations: [], error: null });
    expect(lastWords(ran)).toMatchObject([
      { type: "error", code: "interrupted", recoverable: false },
      { type: "completed", output: "Done." },
    ]);
    expect(ran.wire.methods.filter((one) => one !== "session/prompt")).toEqual([
      "initialize",
      "session/new",
      "session/cancel",
    ]);
    expect(ran.wire).toMatchObject({ prompts: ["Say hello.", "And more."], most: 1 });
  });

  test("cancels the agent's open request and takes it back", async () => {
    const answers: unknown[] = [];
    const ran = await talk({
      prompt: ({ say, end, turn, ask }) =>
        turn === 1 ? [ask(7, { toolCallId: "c", title: "Run it", kind: "execute" })] : [say("Done."), end()],
      answered: ({ message }) => {
        answers.push(message["result"]);
        return [];
      },
      cancel: ({ end }) => [end(cancelled)],
    }, { turns: two, stopTurnWhen: stops("permission_request") });
    expect(ran.events).toContainEqual({ type: "request_withdrawn", request_id: "permission-7" });
    expect(answers).toEqual([{ outcome: { outcome: "cancelled" } }]);
    expect(lastWords(ran)).toMatchObject([{ code: "interrupted" }, { type: "completed", output: "Done." }]);
  });

  test("does not wait for a call that stays open", async () => {
    const call = {
      sessionUpdate: "tool_call",
      toolCallId: "1",
      kind: "execute",
      status: "in_progress",
      rawInput: { a: 1 },
    };
    const started = performance.now();
    const ran = await talk({
      prompt: ({ say, end, turn, update }) => turn === 1 ? [update(call)] : [say("Done."), end()],
      cancel: ({ end }) => [end(cancelled)],
    }, { turns: two, stopTurnWhen: stops("tool_call") });
    expect(lastWords(ran)).toHaveLength(2);
    // A turn that is not stopped waits ten seconds for the result.
    expect(performance.now() - started).toBeLessThan(9000);
  });

  test("gives back a word that comes with it", async () => {
    const ran = await talk({
      steers: true,
      prompt: ({ say, end, turn }) => turn === 1 ? [say("I beg")] : [say("Done."), end()],
      steer: () => [],
      // The agent refuses what it has not answered yet.
      cancel: ({ end }) => [end(cancelled), { jsonrpc: "2.0", id: 3, error: { code: -32600, message: "cancelled" } }],
    }, { turns: [{ messages: ["Be brief."] }, { prompt: "And more." }], stopTurnWhen: stops("output") });
    expect(ran.violations).toEqual([]);
    expect(ran.events).toContainEqual({ type: "message", message_id: "turn-1-message-1", state: "returned" });
    expect(lastWords(ran)).toMatchObject([{ code: "interrupted" }, { type: "completed" }]);
  });

  test("before it is prompted sends no prompt", async () => {
    const ran = await talk({ prompt: ({ say, end }) => [say("Done."), end()] }, {
      turns: two,
      stopTurnWhen: stops("progress"),
    });
    expect(ran.violations).toEqual([]);
    expect(ran.wire.prompts).toEqual(["And more."]);
    expect(ran.wire.methods).not.toContain("session/cancel");
    expect(lastWords(ran)).toMatchObject([{ code: "interrupted" }, { type: "completed", output: "Done." }]);
  });

  test("of an agent that was done all the same is no stop", async () => {
    const ran = await talk({
      prompt: ({ say, end, turn }) => turn === 1 ? [say("Nearly.")] : [say("Done."), end()],
      cancel: ({ end }) => [end()],
    }, { turns: two, stopTurnWhen: stops("output") });
    expect(lastWords(ran)).toMatchObject([{ type: "completed", output: "Nearly." }, { type: "completed" }]);
  });
});

describe("the effort and the plan of a turn", () => {
  const select = (id: string, { category, values }: { category: string; values: string[] }) => ({
    id,
    category,
    currentValue: values[0],
    options: values.map((value) => ({ value })),
  });
  const session = {
    configOptions: [
      select("thinks", { category: "thought_level", values: ["low", "xhigh"] }),
      select("works", { category: "own", values: ["default", "plan"] }),
    ],
  };

  test("are chosen where the agent offers them, and a plan is left again", async () => {
    const chosen: unknown[] = [];
    const { wire, answer } = agentOf({
      session,
      prompt: ({ say, end }) => [say("Done."), end()],
      answered({ message, reply }) {
        chosen.push(message["params"]);
        return [reply({})];
      },
    });
    const ran = await runAdapter(AcpAgent, { effort: "max" }, {
      config: { custom: { url } },
      sockets: { [url]: { answer } },
      turns: [{}, { prompt: "Two.", plan: true }, { prompt: "Three.", plan: false, effort: "low" }],
    });
    expect(ran).toMatchObject({ error: null, violations: [] });
    expect(wire.prompts.length).toBe(3);
    const set = (configId: string, value: string) => ({ sessionId: "s", configId, value });
    expect(chosen).toEqual([
      set("thinks", "xhigh"),
      set("works", "plan"),
      set("thinks", "low"),
      set("works", "default"),
    ]);
  });

  test.each(["effort", "plan"])(
    "are refused where it offers no choice, and told with the best effort: %s",
    async (field) => {
      const run = (best_effort: boolean) => {
        const { answer } = agentOf({ prompt: ({ say, end }) => [say("Done."), end()] });
        const request = { best_effort, ...(field === "plan" ? { plan: true } : { effort: "low" as const }) };
        return runAdapter(AcpAgent, request, { config: { custom: { url } }, sockets: { [url]: { answer } } });
      };
      expect((await run(false)).error).toMatchObject({ code: "unenforceable", details: { fields: [field] } });
      const { last, events } = await run(true);
      expect(last).toMatchObject({ type: "completed" });
      expect(events).toContainEqual({
        type: "progress",
        message: expect.stringContaining(`Without the request's ${field}: `),
      });
    },
  );
});

test("a fork is a copy of an agent's session where the agent makes any", async () => {
  const run = async (sessionCapabilities: JsonFields) => {
    const { wire, answer } = agentOf({
      capabilities: { loadSession: true, sessionCapabilities },
      prompt: ({ say, end }) => [say("Done."), end()],
      answered: ({ reply }) => [reply({ sessionId: "s" })],
    });
    const request = { continue_from: "before", fork: {} };
    const ran = await runAdapter(AcpAgent, request, { config: { custom: { url } }, sockets: { [url]: { answer } } });
    return { ...ran, methods: wire.methods };
  };
  const made = await run({ fork: {} });
  expect(made).toMatchObject({ error: null, methods: ["initialize", "session/fork", "session/prompt"] });
  expect((await run({})).error).toMatchObject({ code: "unsupported" });
});

test.each([
  ["resume", { loadSession: true, sessionCapabilities: { resume: {} } }],
  ["load", { loadSession: true }],
])(
  "an earlier session is opened by session/%s, the first of the ways that the agent announces",
  async (way, capabilities) => {
    const { wire, answer } = agentOf({
      capabilities,
      prompt: ({ say, end }) => [say("Done."), end()],
      answered: ({ message, reply }) => message["method"] === `session/${way}` ? [reply({})] : [],
    });
    const options = { config: { custom: { url } }, sockets: { [url]: { answer } } };
    const ran = await runAdapter(AcpAgent, { continue_from: "s" }, options);
    expect(ran).toMatchObject({ error: null, last: { type: "completed", output: "Done." } });
    expect(wire.methods).toEqual(["initialize", `session/${way}`, "session/prompt"]);
  },
);

test.each([
  ["delete", { close: {}, delete: {} }],
  ["close", { close: {} }],
])("a probe leaves no session behind: session/%s, as the agent announces", async (way, sessionCapabilities) => {
  const { wire, answer } = agentOf({
    capabilities: { sessionCapabilities },
    prompt: ({ end }) => [end()],
    answered: ({ message, reply }) => message["method"] === `session/${way}` ? [reply({})] : [],
  });
  await probeAdapter(AcpAgent, { config: { custom: { url } }, sockets: { [url]: { answer } } });
  expect(wire.methods).toEqual(["initialize", "session/new", `session/${way}`]);
});
