import { expect, test } from "vitest";
import { FoldCounting } from "../../../core/doors/http/count-folds.ts";
import { MarkCounting } from "../../../core/doors/http/count-marks.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { openDoor } from "./door-fixture.ts";
import { envelopesOf } from "../cli/fake-host.ts";

type Event = Envelope["event"];

const said: Event = { type: "output", stream: "stdout", data: "x" };
const call = (call_id: string, kind: "read" | "edit" = "read"): Event => {
  return { type: "tool_call", call_id, tool: "T", kind, input: {} };
};
const result = (call_id: string, success: boolean): Event => {
  return { type: "tool_result", call_id, tool: "T", output: "", success, duration_ms: 1 };
};
const progress: Event = { type: "progress", message: "on it" };

function counted(step: number, ...events: Event[]) {
  const counting = new MarkCounting(step);
  for (const envelope of envelopesOf(events)) counting.take(envelope);
  return { groups: counting.groups(1, events.length), ...counting.places };
}

test("MarkCounting counts a text in pieces once in its group, and every call, edit, question and failure", () => {
  const asked: Event = { type: "question", request_id: "q", question: "which?" };
  const denied: Event = { type: "capability", permission: "net", target: "a:1", decision: "denied" };
  const events = [said, said, progress, said, call("a", "edit"), result("a", false), asked, denied, said, said];
  expect(counted(10, ...events)).toEqual({
    groups: [{ first: 1, said: 3, tools: 1, edits: 1, failures: 2, asked: 1 }],
    failures: [5, 8],
    edits: [5],
    denials: [8],
  });
});

test("MarkCounting counts a failed answer where its call's row is, across the border of two groups and no further", () => {
  const { groups, failures } = counted(2, call("a"), call("b"), result("b", false), said, result("a", false), said);
  expect(failures).toEqual([2, 5]);
  expect(groups.map(({ first, failures }) => [first, failures])).toEqual([[1, 1], [3, 0], [5, 1]]);
});

test("MarkCounting leaves out groups without a mark", () => {
  expect(counted(2, said, said, progress, progress, said).groups.map(({ first }) => first)).toEqual([1, 5]);
});

test("FoldCounting sums up agents of the agent, and finds plans, groups that are theirs alone, and answers far from calls", () => {
  const inner = (event: Event, agent_id = "sub") => ({ ...event, agent_id }) as Event;
  const began = (agent_id: string, parent?: string): Event => {
    return { type: "agent_started", agent_id, name: agent_id, ...(parent === undefined ? {} : { parent }) };
  };
  const plan: Event = { type: "plan", entries: [] };
  const folds = new FoldCounting(2);
  const events = [
    ...[
      call("far"),
      began("sub"),
      inner(call("a")),
      inner(result("a", true)),
      began("deep", "sub"),
      inner(said, "deep"),
    ],
    ...[plan, result("far", true), { type: "agent_ended", agent_id: "sub", outcome: "error" } as Event, plan],
    ...[call("near"), said, result("near", true), result("unknown", true)],
  ];
  for (const envelope of envelopesOf(events)) folds.take(envelope);
  expect(folds.plans).toEqual([7, 10]);
  expect(folds.inner).toEqual([3, 5]);
  expect(folds.agents).toEqual([
    { agent_id: "sub", first: 2, began: 2, name: "sub", outcome: "error", events: 5, calls: 1 },
    { agent_id: "deep", first: 5, began: 5, name: "deep", outcome: null, events: 2, calls: 0 },
  ]);
  expect(folds.answers).toEqual([
    { call_id: "far", call: 1, seq: 8 },
    { call_id: "unknown", call: null, seq: 14 },
  ]);
});

test("the marks of a session of any length come in pieces, and all pieces have what the whole has", async () => {
  const door = await openDoor();
  const { id } = await (await door.client()).start({ workdir: "/project", prompt: "Fix it" });
  await door.sessions.say(id, ...Array.from({ length: 10_100 }, (_, at) => `line ${at}`));
  const read = async (query: string) => {
    const answer = await door.local(`http://localhost/v1/sessions/${id}/marks?step=100${query}`);
    return await answer.json() as {
      groups: { first: number; said: number }[];
      failures: number[];
      next: number | null;
    };
  };
  const first = await read("");
  expect(first).toMatchObject({ plans: [], agents: [], inner: [], answers: [], to: 10_000 });
  const second = await read(`&after=${first.next}`);
  expect([first.next, second.next]).toEqual([10_000, null]);
  expect([...first.groups, ...second.groups].map(({ first }) => first)).toEqual(
    Array.from({ length: 102 }, (_, at) => at * 100 + 1),
  );
  // The prompt is said in the first group as well.
  expect(first.groups[0]).toMatchObject({ said: 2, failures: 0 });
  expect((await read("&after=99999")).groups).toEqual([]);
});
