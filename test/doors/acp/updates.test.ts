import type { SessionUpdate } from "@agentclientprotocol/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changedPlaces, type UpdateOptions, Updates } from "../../../core/doors/acp/updates.ts";
import { type Envelope, hostEventTypes } from "../../../plugin-sdk/envelope.ts";
import { adapterEventTypes } from "../../../plugin-sdk/events.ts";
import { anyEvent, hostEvents } from "./any-event.ts";
import { Screen } from "./screen.ts";

const options: UpdateOptions = { workdir: "/work", notices: true, contextSize: () => 1000 };

function envelope(event: Envelope["event"], seq = 1): Envelope {
  return {
    v: 1,
    seq,
    gseq: seq + 100,
    ts: "2026-01-01T00:00:00.000Z",
    session_id: "0123456789abcdef",
    attempt: 1,
    adapter: { id: "alpha", version: "1.2.3" },
    source: "agent",
    event,
  };
}

const anyOptions: fc.Arbitrary<UpdateOptions> = fc.record({
  workdir: fc.constant("/work"),
  notices: fc.boolean(),
  contextSize: fc.constantFrom(() => undefined, () => 200_000),
});

/** The event that updates carry, from what is shown and what is in `_meta`: what a client can know. */
function recover(updates: readonly SessionUpdate[]): unknown {
  const { event } = updates[0]!._meta!["bulkhead"] as { event: Record<string, unknown> };
  const [first] = updates as [SessionUpdate];
  const text = "content" in first && first.content && "text" in first.content ? first.content.text : "";
  if (event["type"] === "output") return { ...event, data: text };
  if (event["type"] === "thinking") return { ...event, content: text };
  if (first.sessionUpdate === "tool_call" && event["type"] === "tool_call") return { ...event, input: first.rawInput };
  if (first.sessionUpdate === "tool_call_update") return { ...event, output: first.rawOutput };
  return event;
}

describe("Updates", () => {
  test("lose nothing: every event comes back whole from its updates, over the wire", () => {
    fc.assert(fc.property(anyEvent, anyOptions, (event, given) => {
      const sent = JSON.parse(JSON.stringify(new Updates(given).of(envelope(event)))) as SessionUpdate[];
      expect(recover(sent)).toEqual(JSON.parse(JSON.stringify(event)));
      expect(sent[0]!._meta).toMatchObject({ bulkhead: { seq: 1, gseq: 101, attempt: 1, source: "agent" } });
    }));
  });

  test("show a person what any series of events says", () => {
    fc.assert(fc.property(fc.array(anyEvent, { maxLength: 12 }), anyOptions, (events, given) => {
      const updates = new Updates(given);
      const screen = new Screen();
      events.forEach((event, index) => updates.of(envelope(event, index + 1)).forEach((one) => screen.show(one)));
      const said = events.flatMap((event) => event.type === "output" && event.stream === "stdout" ? [event.data] : []);
      const spoken = said.join("");
      let rest = screen.messages;
      for (const text of said) {
        expect(rest).toContain(text);
        rest = rest.slice(rest.indexOf(text) + text.length);
      }
      for (const event of events) {
        if (event.type === "thinking") expect(screen.thoughts).toContain(event.content);
        if (event.type === "output" && event.stream === "stderr") expect(screen.thoughts).toContain(event.data);
        if (event.type === "question") expect(screen.messages).toContain(event.question);
        if (event.type === "tool_call") expect(screen.calls.some(({ name }) => name === event.tool)).toBe(true);
        if (event.type === "file_change") {
          expect(screen.calls.some(({ title }) => title.includes(event.path))).toBe(true);
        }
        if (event.type === "completed" && event.output && spoken === "") {
          expect(screen.messages).toContain(event.output);
        }
      }
      const plans = events.flatMap((event) => event.type === "plan" ? [event.entries] : []);
      expect(screen.plan).toMatchObject(plans.at(-1) ?? []);
    }));
  });

  test("have a row for every event there is", () => {
    const covered = new Set(fc.sample(anyEvent, { numRuns: 4000, seed: 1 }).map(({ type }) => type));
    expect([...adapterEventTypes, ...hostEventTypes].filter((type) => !covered.has(type))).toEqual([]);
  });

  test("give an edit as a diff at its place, with absolute paths", () => {
    const diff = "--- a/a.ts\n+++ b/a.ts\n@@ -3,3 +3,3 @@\n same\n-old\n+new\n same\n";
    const [update] = new Updates(options).of(
      envelope({ type: "file_change", path: "src/a.ts", action: "modify", diff }, 7),
    );
    expect(update).toMatchObject({
      sessionUpdate: "tool_call",
      toolCallId: "01234567:file-change-7",
      kind: "edit",
      status: "completed",
      locations: [{ path: "/work/src/a.ts", line: 3 }],
      content: [{ type: "diff", path: "/work/src/a.ts", oldText: "same\nold\nsame", newText: "same\nnew\nsame" }],
    });
  });

  test("give a tool call the places its input names", () => {
    const input = { file_path: "a.ts", old_string: "x" };
    const [update] = new Updates(options).of(
      envelope({ type: "tool_call", call_id: "c1", tool: "Edit", kind: "edit", input }),
    );
    expect(update).toMatchObject({ toolCallId: "01234567:c1", name: "Edit", locations: [{ path: "/work/a.ts" }] });
  });

  test("give usage where the size of the context is known, and make none up where it is not", () => {
    const usage = {
      type: "usage",
      scope: "turn",
      tokens_in: 100,
      tokens_out: 20,
      tokens_cached: null,
      cost: 0.5,
      currency: "EUR",
    } as const;
    expect(new Updates(options).of(envelope(usage))).toMatchObject([
      { sessionUpdate: "usage_update", used: 120, size: 1000, cost: { amount: 0.5, currency: "EUR" } },
    ]);
    expect(new Updates({ ...options, contextSize: () => undefined }).of(envelope(usage))).toMatchObject([
      { sessionUpdate: "session_info_update", _meta: { bulkhead: { event: usage } } },
    ]);
  });

  test("tell as a notice what a person should know, and as a thought to a client without notices", () => {
    const event = { type: "rate_limit", message: "slow down", wait_ms: null } as const;
    expect(new Updates(options).of(envelope(event))).toMatchObject([
      { sessionUpdate: "notice", severity: "warning", title: "Rate limit: slow down" },
    ]);
    expect(new Updates({ ...options, notices: false }).of(envelope(event))).toMatchObject([
      { sessionUpdate: "agent_thought_chunk", content: { text: "Rate limit: slow down\n" } },
    ]);
  });

  test("have an example of each host event", () => {
    expect(Object.keys(hostEvents).sort()).toEqual([...hostEventTypes].sort());
  });
});

test("changedPlaces reads hunks and takes any text", () => {
  expect(changedPlaces("@@ -1 +1,2 @@\n-a\n+b\n+c\n\\ No newline at end of file")).toEqual([
    { old_text: "a", new_text: "b\nc", line: 1 },
  ]);
  fc.assert(fc.property(fc.string(), (text) => void changedPlaces(text)));
});
