import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventRules } from "../../../core/sessions/session/event-rules.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";

const call = (call_id: string): AdapterEvent => ({ type: "tool_call", call_id, tool: "edit", kind: "edit", input: {} });
const answer = (call_id: string): AdapterEvent => ({
  type: "tool_result",
  call_id,
  tool: "edit",
  output: null,
  success: true,
  duration_ms: 1,
});
const ask = (request_id: string): AdapterEvent => ({
  type: "permission_request",
  request_id,
  tool: "edit",
  title: "May I?",
  options: [{ id: "yes", label: "Yes", kind: "allow_once" }],
});
const twoAlike = (event: AdapterEvent): AdapterEvent => ({
  ...event,
  options: ["allow_once", "reject_once"].map((kind) => ({ id: "a", label: kind, kind })),
} as AdapterEvent);
const question = (request_id: string): AdapterEvent => ({ type: "question", request_id, question: "Which?" });
const say = (data: string, stream: "stdout" | "stderr" = "stdout"): AdapterEvent => ({ type: "output", stream, data });
const done = (files_changed: string[] = []): AdapterEvent => ({
  type: "completed",
  success: true,
  files_changed,
  tokens_used: null,
  cost: null,
});

describe("EventRules", () => {
  test("requests beyond those that may wait at the same time are kept as unparsed, until others are answered", () => {
    const rules = new EventRules();
    const limits = { open_requests: 2, open_request_bytes: 1000 };
    expect(["a", "b", "c"].map((id) => rules.accept(ask(id), limits).type)).toEqual([
      "permission_request",
      "permission_request",
      "unparsed",
    ]);
    rules.resolve("a");
    expect(rules.accept(question("d"), limits).type).toBe("question");
    expect(rules.accept(question("e"), limits).type).toBe("unparsed");
    expect(rules.finish().map(({ event }) => "request_id" in event && event.request_id)).toEqual(["b", "d"]);
    expect(rules.accept(question("f"), limits).type).toBe("question");
  });

  test("a result without a tool's name gets the one of its call", () => {
    const rules = new EventRules();
    for (const id of ["a", "b"]) rules.accept(call(id));
    const unnamed = { ...answer("a"), tool: "unknown" } as AdapterEvent;
    expect(rules.accept(unnamed)).toEqual(answer("a"));
    const other = { ...answer("b"), tool: "write" } as AdapterEvent;
    expect(rules.accept(other)).toBe(other);
  });

  test("requests that wait have their bytes counted together", () => {
    const rules = new EventRules();
    const limits = { open_requests: 100, open_request_bytes: 3000 };
    const long = (id: string) => ({ ...question(id), question: "ä".repeat(500) }) as AdapterEvent;
    expect(["a", "b", "c"].map((id) => rules.accept(long(id), limits).type)).toEqual([
      "question",
      "question",
      "unparsed",
    ]);
    expect(rules.accept(question("d"), limits).type).toBe("question");
    rules.resolve("a");
    expect(rules.accept(long("e"), limits).type).toBe("question");
  });

  test("a tool result without an open call, and a second one, are kept as unparsed with the reason", () => {
    const rules = new EventRules();
    const early = rules.accept(answer("a"));
    expect(early).toEqual({
      type: "unparsed",
      data: { problem: "This tool_result breaks a rule: no tool call of that call_id is open.", yielded: answer("a") },
    });
    expect(rules.accept(call("a"))).toEqual(call("a"));
    expect(rules.accept(answer("a"))).toEqual(answer("a"));
    expect(rules.accept(answer("a")).type).toBe("unparsed");
  });

  test("a call's id is never used twice, neither while it is open nor afterwards", () => {
    const rules = new EventRules();
    rules.accept(call("a"));
    expect(rules.accept(call("a")).type).toBe("unparsed");
    rules.accept(answer("a"));
    expect(rules.accept(call("a")).type).toBe("unparsed");
    expect(rules.toolCalls).toBe(1);
  });

  test("a request of which two answers have one id is refused: a no could be read as a yes", () => {
    const rules = new EventRules();
    expect(rules.accept(twoAlike(ask("r"))).type).toBe("unparsed");
    expect(rules.answeredBy("r")).toBeNull();
  });

  test("a request's id that is used again is a new request, with an answer of its own", () => {
    const rules = new EventRules();
    expect(rules.accept(ask("r"))).toMatchObject({ request_id: "r" });
    expect(rules.answeredBy("r")).toBe("r");
    rules.resolve("r");
    expect(rules.accept(question("r~1"))).toMatchObject({ request_id: "r~1" });
    expect(rules.accept(question("r"))).toMatchObject({ type: "question", request_id: "r~2" });
    expect([rules.answeredBy("r"), rules.answeredBy("r~1"), rules.answeredBy("x")]).toEqual(["r~2", "r~1", null]);
    expect(rules.resolve("r~2")).toBe(true);
    rules.begin(2);
    expect(rules.answeredBy("r")).toBe(null);
    expect(rules.accept(ask("r"))).toMatchObject({ request_id: "2.r" });
    expect(rules.accept(ask("i".repeat(256)))).toMatchObject({ request_id: expect.stringMatching(/^2\.i{238}~3$/) });
  });

  test("a request that the host refuses has no answer, and an older one least of all", () => {
    const rules = new EventRules();
    rules.accept(ask("r"));
    expect(rules.answeredBy("r")).toBe("r");
    expect(rules.accept(question("r")).type).toBe("unparsed");
    expect([rules.answeredBy("r"), rules.takeEnded()]).toEqual([null, []]);
    rules.resolve("r");
    const full = { open_requests: 0, open_request_bytes: 0 };
    expect([rules.accept(ask("r"), full).type, rules.answeredBy("r")]).toEqual(["unparsed", null]);
    expect(rules.accept(ask("r")).type).toBe("permission_request");
    // Its answer was not asked for yet: nothing tells to which of the two an answer belongs, so both get none.
    expect([rules.accept(ask("r")).type, rules.answeredBy("r"), rules.takeEnded()]).toEqual(["unparsed", null, [
      "r~1",
    ]]);
    rules.accept(ask("policy"));
    rules.resolve("policy");
    expect([rules.accept(ask("policy")).type, rules.answeredBy("policy")]).toEqual(["unparsed", null]);
  });

  test("a request ends when the agent takes it back, and when its tool call is over", () => {
    const rules = new EventRules();
    for (const event of [call("c"), { ...ask("r"), call_id: "c" }, { ...question("q"), call_id: "c" }, ask("s")]) {
      rules.accept(event as AdapterEvent);
    }
    rules.accept(answer("c"));
    expect(rules.accept({ type: "request_withdrawn", request_id: "s" }).type).toBe("request_withdrawn");
    expect(rules.accept({ type: "request_withdrawn", request_id: "never" }).type).toBe("unparsed");
    expect(rules.hasEnded("s")).toBe(true);
    // The id is free before the host has told that the request is closed.
    expect(rules.accept(ask("s"))).toMatchObject({ request_id: "s~1" });
    expect([rules.takeEnded(), rules.takeEnded()]).toEqual([["r", "q", "s"], []]);
    // An answer may have come first.
    rules.resolve("s~1");
    expect(rules.accept({ type: "request_withdrawn", request_id: "s" })).toMatchObject({ request_id: "s~1" });
    expect(rules.takeEnded()).toEqual([]);
  });

  test("a request is resolved once", () => {
    const rules = new EventRules();
    rules.accept(question("r"));
    expect([rules.resolve("r"), rules.resolve("r")]).toEqual([true, false]);
    expect(rules.resolve("never")).toBe(false);
  });

  test("ids of a further attempt do not meet those of the ones before, and its words are its own", () => {
    const rules = new EventRules();
    for (const event of [call("a"), ask("r"), say("first")]) rules.accept(event);
    rules.accept({ type: "error", code: "crash", message: "gone", recoverable: true });
    rules.finish();
    rules.begin(2);
    expect([rules.lastWord, rules.text, rules.toolCalls]).toEqual([null, "", 1]);
    expect(rules.accept(call("a"))).toMatchObject({ type: "tool_call", call_id: "2.a" });
    expect(rules.accept(answer("a"))).toMatchObject({ type: "tool_result", call_id: "2.a" });
    expect(rules.accept({ ...ask("r"), call_id: "a" } as AdapterEvent)).toMatchObject({
      request_id: "2.r",
      call_id: "2.a",
    });
    expect(rules.answeredBy("r")).toBe("2.r");
    expect(rules.resolve("2.r")).toBe(true);
    expect(rules.toolCalls).toBe(2);
  });

  test("an id like one of a later attempt's is renamed in the first attempt as well, and no other", () => {
    const rules = new EventRules();
    const plain = call("a.2");
    expect(rules.accept(plain)).toBe(plain);
    expect(rules.accept(ask("2.r"))).toMatchObject({ type: "permission_request", request_id: "1.2.r" });
    expect(rules.accept(question("2.r"))).toMatchObject({ type: "unparsed" });
    expect(rules.accept(call("2.a"))).toMatchObject({ type: "tool_call", call_id: "1.2.a" });
    expect(rules.accept(answer("2.a"))).toMatchObject({ type: "tool_result", call_id: "1.2.a" });
    expect([rules.resolve("2.r"), rules.resolve(rules.streamId("2.r"))]).toEqual([false, true]);
    rules.begin(2);
    expect(rules.accept(ask("r"))).toMatchObject({ type: "permission_request", request_id: "2.r" });
  });

  test("ids of any two attempts never meet", () => {
    const id = fc.stringMatching(/^[0-9.r]{1,6}$/);
    const attempt = fc.integer({ min: 1, max: 12 });
    fc.assert(fc.property(id, attempt, id, attempt, (one, first, other, second) => {
      const named = (attempt: number, id: string): string => {
        const rules = new EventRules();
        rules.begin(attempt);
        return rules.streamId(id);
      };
      expect(named(first, one) === named(second, other)).toBe(first === second && one === other);
    }));
  });

  test("what is read from the log keeps its ids", () => {
    const rules = new EventRules({ replayed: true });
    for (const id of ["a", "2.a", "1.2.a"]) expect(rules.accept(call(id))).toMatchObject({ call_id: id });
    expect(rules.finish().map(({ event }) => event)).toMatchObject([
      { type: "tool_result", call_id: "a" },
      { type: "tool_result", call_id: "2.a" },
      { type: "tool_result", call_id: "1.2.a" },
    ]);
  });

  test("finish() closes what is open, says that the host made it up, and leaves nothing for a second time", () => {
    const rules = new EventRules();
    for (const event of [call("a"), call("b"), answer("a"), ask("r"), question("s")]) rules.accept(event);
    rules.resolve("s");
    const closing = rules.finish();
    expect(closing.every(({ source, synthetic }) => source === "host" && synthetic === true)).toBe(true);
    expect(closing.map(({ event }) => event)).toEqual([
      {
        type: "tool_result",
        call_id: "b",
        tool: "edit",
        output: expect.any(String),
        success: false,
        duration_ms: null,
      },
      { type: "permission_resolved", request_id: "r", choice: null, by: "session_end" },
    ]);
    expect(rules.finish()).toEqual([]);
    expect(rules.resolve("r")).toBe(false);
  });

  test("the end of what was printed to standard output is the text, and no more than a mebibyte is held", () => {
    const rules = new EventRules();
    for (const event of [say("a"), say("not this", "stderr"), say("b")]) rules.accept(event);
    expect(rules.text).toBe("ab");
    rules.accept(say("x".repeat(2 * 1024 * 1024)));
    rules.accept(say("end"));
    expect(rules.text).toHaveLength(1024 * 1024);
    expect(rules.text.endsWith("xend")).toBe(true);
  });

  test("claimed paths come from changes and from the last word, each once", () => {
    const rules = new EventRules();
    rules.accept({ type: "file_change", path: "a", action: "create" });
    rules.accept({ type: "file_change", path: "a", action: "modify" });
    rules.accept(done(["b", "a"]));
    expect(rules.claimedPaths).toEqual(["a", "b"]);
    expect(rules.lastWord).toEqual(done(["b", "a"]));
  });

  test("a flood of new ids does not grow the host: beyond ten thousand they are unparsed", () => {
    const rules = new EventRules();
    for (let n = 0; n < 10_000; n++) rules.accept(call(`c${n}`));
    expect(rules.accept(call("one more")).type).toBe("unparsed");
    for (let n = 0; n < 10_000; n++) rules.accept(question(`q${n}`));
    expect(rules.accept(ask("one more")).type).toBe("unparsed");
    for (let n = 0; n < 10_001; n++) rules.accept({ type: "file_change", path: `p${n}`, action: "create" });
    expect(rules.claimedPaths).toHaveLength(10_000);
  });

  test("claims of long paths do not make a result of many megabytes", () => {
    const rules = new EventRules();
    const long = "p".repeat(4000);
    const flood = () => {
      for (let n = 0; n < 10_000; n++) {
        rules.accept({ type: "file_change", path: `${long}${n % 5000}`, action: "create" });
      }
      return rules.claimedPaths.join("").length;
    };
    expect(flood()).toBeLessThan(1024 * 1024 + 5000);
    rules.forgetClaims();
    expect(flood()).toBeGreaterThan(1024 * 1024 - 5000);
  });

  test("whatever comes, calls and results pair off and requests are resolved at most once", () => {
    const id = fc.constantFrom("a", "b", "c");
    const step = fc.oneof(
      id.map((one) => call(one)),
      id.map((one) => answer(one)),
      id.map((one) => ask(one)),
      id.map((one) => question(one)),
      id.map((one) => ({ resolve: one })),
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const rules = new EventRules();
      const out: string[] = [];
      for (const one of steps) {
        if ("resolve" in one) {
          const name = rules.answeredBy(one.resolve);
          if (name !== null && rules.resolve(name)) out.push(`resolved ${name}`);
          continue;
        }
        const event = rules.accept(one);
        if (event.type === "tool_call" || event.type === "tool_result") out.push(`${event.type} ${event.call_id}`);
        if (event.type === "permission_request" || event.type === "question") out.push(`asked ${event.request_id}`);
      }
      for (const { event } of rules.finish()) {
        if (event.type === "tool_result") out.push(`tool_result ${event.call_id}`);
        if (event.type === "permission_resolved") out.push(`resolved ${event.request_id}`);
      }
      const asked = out.flatMap((line) => line.startsWith("asked ") ? [line.slice(6)] : []);
      expect(new Set(asked).size).toBe(asked.length);
      for (const one of asked) {
        expect(out.filter((line) => line === `resolved ${one}`)).toHaveLength(1);
        expect(out.indexOf(`resolved ${one}`)).toBeGreaterThan(out.indexOf(`asked ${one}`));
      }
      for (const one of ["a", "b", "c"]) {
        const calls = out.filter((line) => line === `tool_call ${one}` || line === `tool_result ${one}`);
        expect([[], [`tool_call ${one}`, `tool_result ${one}`]]).toContainEqual(calls);
      }
    }));
  });
});
