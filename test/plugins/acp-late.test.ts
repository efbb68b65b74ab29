import { expect, test } from "vitest";
import type { AdapterContext } from "../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";
import { MemoryTurns } from "../../plugin-sdk/testing/memory-turns.ts";
import { Conversation } from "../../plugins/acp/conversation.ts";
import { agentOptions } from "../../plugins/acp/options.ts";
import { SessionCost } from "../../plugins/acp/usage.ts";
import { BatchQueue } from "../../plugin-sdk/batch-queue.ts";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const ctx = { workdir: "/", sleep: pause, permission: () => Promise.resolve(null), signal: { aborted: false } };
const say = (text: string): JsonFields => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const begun = { sessionUpdate: "tool_call", toolCallId: "1", title: "Write", kind: "edit", status: "in_progress" };
const diff = { type: "diff", path: "/a", oldText: null, newText: "a" };
const ended = { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed", content: [diff] };

/** The last word of a turn whose updates come before the answer to its prompt, and after it: each after some time. */
async function lastOf(before: JsonFields[], late: [number, JsonFields][]): Promise<AdapterEvent | undefined> {
  const sent = new BatchQueue<string[]>();
  const messages = (async function* () {
    for await (const lists of sent.batches()) yield* lists;
  })();
  const put = (message: JsonFields) => sent.push([[JSON.stringify({ jsonrpc: "2.0", ...message })]]);
  const tell = (update: JsonFields) => put({ method: "session/update", params: { sessionId: "s", update } });
  const answers: Record<string, object> = {
    initialize: { protocolVersion: 1, agentInfo: { name: "a" }, agentCapabilities: {} },
    "session/new": { sessionId: "s" },
  };
  let told = Promise.resolve();
  const send = (text: string) => {
    const { id, method } = JSON.parse(text) as { id: number; method: string };
    if (method === "session/prompt") {
      before.forEach(tell);
      told = (async () => {
        for (const [ms, update] of late) {
          await pause(ms);
          tell(update);
        }
      })();
    }
    put({ id, result: answers[method] ?? { stopReason: "end_turn" } });
    return Promise.resolve();
  };
  // The agent's program ends when it has told all.
  const close = () => Promise.resolve(void told.then(() => sent.end()));
  const conversation = new Conversation({ messages, send, close }, {
    ctx: { ...ctx, turns: new MemoryTurns({ prompt: "go" }) } as unknown as AdapterContext,
    options: agentOptions({ command: "agent" }),
  });
  const events: AdapterEvent[] = [];
  for await (const batch of conversation.run({ prompt: "go", workdir: "/" })) events.push(...batch);
  return events.at(-1);
}

test.each<[string, JsonFields[], [number, JsonFields][], object]>([
  ["the end of a text", [say("Part one, ")], [[30, say("and two.")]], { output: "Part one, and two." }],
  ["a text after its input has ended", [say("Part one, ")], [[250, say("and two.")]], { output: "Part one, and two." }],
  ["all of its text", [], [[150, say("All.")]], { output: "All." }],
  [
    "a call with its change and words",
    [say("I write.")],
    [[10, begun], [200, ended], [20, say("Written.")]],
    { output: "Written.", files_changed: ["/a"] },
  ],
])("an ACP agent's turn has what comes after the answer to its prompt: %s", async (_what, before, late, last) => {
  expect(await lastOf(before, late)).toMatchObject({ type: "completed", ...last });
});

test("the cost of a session that is continued is what it grew by, or not known", () => {
  const told = (amount: number, currency = "USD") => ({ cost: { amount, currency } });
  const spent = (before: JsonFields[], later: JsonFields[], isResumed = true) => {
    const cost = new SessionCost();
    before.forEach((one) => cost.take(one));
    cost.begin({ isResumed });
    later.forEach((one) => cost.take(one));
    return cost.spent?.cost ?? null;
  };
  expect(spent([], [told(1)], false)).toBe(1);
  expect(spent([told(1)], [told(1.2), told(1.5)])).toBe(0.5);
  expect(spent([], [told(1.5)])).toBe(null);
  expect(spent([told(1)], [told(1.5, "EUR")])).toBe(null);
  expect(spent([told(2)], [told(1.5)])).toBe(null);
});
