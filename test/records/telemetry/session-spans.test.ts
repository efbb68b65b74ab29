import { expect, test } from "vitest";
import { SessionSpans } from "../../../core/records/telemetry/session-spans.ts";
import type { Span } from "../../../core/records/telemetry/span.ts";
import type { Envelope, SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import { client, Envelopes, eventsOf, kept } from "./recorded-session.ts";

const traceparent = `00-${client.trace}-${client.span}-01`;

function spansOf(events: readonly object[], content = false): Span[] {
  const envelopes = new Envelopes().of("session-1", events);
  const spans = new SessionSpans(envelopes[0] as Envelope & { event: SessionStartedEvent }, content);
  return envelopes.flatMap((one) => spans.see(one));
}

const byName = (spans: readonly Span[]) => new Map(spans.map((one) => [one.name, one]));
/** The names of a span and those that it lies in. */
function pathOf(span: Span, spans: readonly Span[]): string[] {
  const outer = spans.find(({ span_id }) => span_id === span.parent);
  return outer === undefined ? [span.name] : [...pathOf(outer, spans), span.name];
}

test("a session, its attempt, model calls, tools, agents and programs are one tree below the client's span", () => {
  const spans = spansOf(eventsOf({ traceparent }));
  const paths = spans.map((span) => pathOf(span, spans).join(" > ")).sort();
  const attempt = "invoke_agent echo > attempt 1";
  expect(paths).toEqual([
    "invoke_agent echo",
    attempt,
    `${attempt} > chat model-1`,
    `${attempt} > chat model-1`,
    `${attempt} > execute_tool Read`,
    `${attempt} > execute_tool Task`,
    `${attempt} > execute_tool Task > invoke_agent explorer`,
    `${attempt} > execute_tool Task > invoke_agent explorer > execute_tool read`,
    `${attempt} > process agent`,
  ].sort());
  expect(new Set(spans.map(({ trace_id }) => trace_id))).toEqual(new Set([client.trace]));
  expect(byName(spans).get("invoke_agent echo")?.parent).toBe(client.span);
  expect(new Set(spans.map(({ span_id }) => span_id)).size).toBe(spans.length);
});

test("a flood of agents of the agent costs a bounded number of open spans", () => {
  const [started, attempt] = eventsOf();
  const flood = Array.from({ length: 5000 }, (_, at) => ({
    type: "agent_started",
    agent_id: `helper-${at}`,
    name: "helper",
    prompt: kept.prompt,
  }));
  const spans = spansOf([started!, attempt!, ...flood, eventsOf().at(-1)!]);
  expect(spans.filter(({ name }) => name === "invoke_agent helper")).toHaveLength(256);
});

test("a session without a client's span begins a trace of its own, the same one each time", () => {
  const [one, again] = [spansOf(eventsOf()), spansOf(eventsOf())];
  expect(one.map(({ span_id, trace_id }) => [span_id, trace_id])).toEqual(
    again.map(({ span_id, trace_id }) => [span_id, trace_id]),
  );
  expect(byName(one).get("invoke_agent echo")?.parent).toBeNull();
});

test("spans have the conventions' attributes, and measurements count tokens once", () => {
  const spans = byName(spansOf(eventsOf()));
  expect(spans.get("invoke_agent echo")?.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "echo",
    "gen_ai.agent.version": "2.1.0",
    "gen_ai.conversation.id": "session-1",
    "gen_ai.request.model": "model-1",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 30,
    "gen_ai.usage.cache_read.input_tokens": 100,
  });
  expect(spans.get("execute_tool Read")?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "Read",
    "gen_ai.tool.call.id": "call-1",
  });
  expect(spans.get("execute_tool read")).toMatchObject({
    error: "tool_error",
    attributes: { "error.type": "tool_error" },
  });
  expect(spans.get("process agent")?.attributes).toMatchObject({ "process.pid": 4711, "process.exit.code": 0 });
  const measured = [...spansOf(eventsOf())].flatMap(({ measurements }) => measurements);
  const sums = measured.filter(({ metric }) => metric === "gen_ai.client.token.usage").map(({ value }) => value);
  expect(sums).toEqual([20, 10, 100, 20]);
  const [whole] = measured.filter(({ metric }) => metric === "gen_ai.invoke_agent.duration");
  expect(whole?.value).toBeCloseTo(0.16);
});

test("tokens of an agent that tells only the session's are counted at its end", () => {
  const events = eventsOf().filter((event) => (event as { type: string }).type !== "usage");
  const tokens = spansOf(events).flatMap(({ measurements }) => measurements)
    .filter(({ metric }) => metric === "gen_ai.client.token.usage");
  expect(tokens.map(({ value, attributes }) => [value, attributes["gen_ai.token.type"]])).toEqual([
    [120, "input"],
    [30, "output"],
  ]);
});

test("no prompt, output, path or secret is in a span, unless content is wanted; a secret in argv never is", () => {
  const text = JSON.stringify(spansOf(eventsOf({ traceparent })));
  for (const word of Object.values(kept)) expect(text).not.toContain(word);
  const whole = JSON.stringify(spansOf(eventsOf({ traceparent }), true));
  for (const word of [kept.prompt, kept.output, kept.path]) expect(whole).toContain(word);
  expect(whole).not.toContain(kept.secret);
});

test("turns are spans, an attempt ends with its turn, and a message's client is linked", () => {
  const all = eventsOf();
  const turn = (number: number, ids: string[]) => ({
    type: "turn_started",
    turn: number,
    after: number - 1,
    message_ids: ids,
    by: "client",
    memory: "agent",
  });
  const over = (number: number) => ({
    type: "turn_ended",
    turn: number,
    outcome: "completed",
    stop_reason: "end_turn",
    output: "",
    usage: {},
  });
  const message = {
    type: "message_accepted",
    message_id: "m",
    delivery: "queue",
    content: [],
    by: { client: "" },
    traceparent,
  };
  const call = (id: string) => [
    { type: "tool_call", call_id: id, tool: "Read", kind: "read", input: {} },
    { type: "tool_result", call_id: id, tool: "Read", output: "", success: true, duration_ms: 1 },
  ];
  const events = [
    all[0]!,
    turn(1, []),
    all[1]!,
    ...call("a"),
    over(1),
    message,
    turn(2, ["m"]),
    ...call("b"),
    over(2),
    all.at(-1)!,
  ];
  const spans = spansOf(events);
  expect(spans.map((span) => pathOf(span, spans).join(" > "))).toEqual([
    "invoke_agent echo > turn 1 > attempt 1 > execute_tool Read",
    "invoke_agent echo > turn 1 > attempt 1",
    "invoke_agent echo > turn 1",
    "invoke_agent echo > turn 2 > execute_tool Read",
    "invoke_agent echo > turn 2",
    "invoke_agent echo",
  ]);
  const link = { trace_id: client.trace, span_id: client.span };
  expect(spans.map((span) => span.link)).toEqual([undefined, undefined, undefined, undefined, link, undefined]);
});

test("what no event ends is ended with the session, as unfinished", () => {
  const [started, attempt] = eventsOf();
  const open = { type: "tool_call", call_id: "a", tool: "Bash", kind: "execute", input: {} };
  const error = { code: "host_restarted", message: "" };
  const end = { type: "session_ended", result: { outcome: "error", stop_reason: "host_restarted", error, output: "" } };
  const spans = byName(spansOf([started!, attempt!, open, end]));
  expect(spans.get("execute_tool Bash")?.attributes["bulkhead.unfinished"]).toBe(true);
  expect(spans.get("invoke_agent echo")?.error).toBe("host_restarted");
});
