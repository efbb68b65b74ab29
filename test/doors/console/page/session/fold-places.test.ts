import { expect, test } from "vitest";
import type { HostApi } from "../../../../../core/doors/console/page/api.ts";
import { FoldPlaces } from "../../../../../core/doors/console/page/session/fold-places.ts";
import type { ShownEvent } from "../../../../../core/doors/console/page/shown-event.ts";
import { shownEvents } from "../shown-events.ts";

type Event = ShownEvent["event"];

const plan: Event = { type: "plan", entries: [] };
const inner = (type: "progress" | "other" = "progress"): Event => {
  return type === "progress"
    ? { type: "tool_call", call_id: "c", tool: "T", kind: "read", input: {}, agent_id: "sub" }
    : { type: "progress", message: "beside" };
};

interface Told {
  plans?: number[];
  agents?: object[];
  inner?: number[];
  answers?: object[];
  to?: number;
}

/** Places of a session of which the host tells this, by the number of its part; with the numbers that were asked about. */
function placesOf(told: Record<number, Told>, last: number) {
  const asked: number[] = [];
  const state = { last };
  const get = (_: string, { after }: { after: number }) => {
    const at = after / 10_000;
    asked.push(at);
    const none = { plans: [], agents: [], inner: [], answers: [], to: Math.min((at + 1) * 10_000, state.last) };
    return Promise.resolve({ ...none, ...told[at] });
  };
  const api = { get } as unknown as HostApi;
  const places = new FoldPlaces({ api, path: "/s", step: 50, last: () => state.last, changed: () => {} });
  return { places, asked, state };
}

/** Asks until it is known. */
async function known<T>(ask: () => T | undefined): Promise<T | undefined> {
  for (let turn = 0; turn < 50; turn++) {
    const found = ask();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done));
  }
  return undefined;
}

test("the newest plan is looked for from the end of a part on, and no further than it stands", async () => {
  const { places, asked } = placesOf({ 0: { plans: [5] }, 97: { plans: [970_100, 970_200] } }, 1_000_000);
  expect(await known(() => places.newestPlan(1, null))).toEqual({ seq: 970_200, updates: null });
  expect(asked).toEqual([99, 98, 97]);
  expect(await known(() => places.newestPlan(1, 970_150))).toEqual({ seq: 970_100, updates: null });
  expect(await known(() => places.newestPlan(970_101, 970_150))).toBe(undefined);
  expect(asked).toEqual([99, 98, 97]);
  // Where all parts are known, so is how often it was changed.
  expect(await known(() => places.newestPlan(1, 20))).toEqual({ seq: 5, updates: 1 });
});

test("plans that come as they happen are known at once, and counted with those before", async () => {
  const { places, asked, state } = placesOf({ 0: { plans: [5, 7] } }, 100);
  expect(await known(() => places.newestPlan(1, null))).toEqual({ seq: 7, updates: 2 });
  for (const one of shownEvents([plan, inner(), plan], { from: 101 })) places.append(one);
  state.last = 103;
  expect(places.newestPlan(1, null)).toEqual({ seq: 103, updates: 4 });
  // One that came twice counts once; after a gap the host is asked.
  for (const one of shownEvents([plan], { from: 103 })) places.append(one);
  expect(places.newestPlan(1, null)).toEqual({ seq: 103, updates: 4 });
  expect(asked).toEqual([0]);
  for (const one of shownEvents([inner("other")], { from: 200 })) places.append(one);
  state.last = 200;
  expect(places.newestPlan(1, null)).toBe(undefined);
  places.close();
});

test("an agent's agent is summed up from its beginning to its end, and its beginning is found from any of its events", async () => {
  const sub = { agent_id: "sub", first: 1, began: null, name: null, outcome: null, events: 10, calls: 4 };
  const { places, asked } = placesOf({
    3: { agents: [{ ...sub, began: 30_500, name: "Explorer" }] },
    4: { agents: [sub] },
    5: { agents: [{ ...sub, outcome: "completed" }] },
  }, 1_000_000);
  const home = await known(() => places.homeOf("sub", 51_000));
  expect([home, asked]).toEqual([{ seq: 30_500, name: "Explorer" }, [5, 4, 3]]);
  const sum = await known(() => places.agent("sub", 30_500) ?? undefined);
  expect([sum, asked]).toEqual([{ events: 30, calls: 12, outcome: "completed" }, [5, 4, 3]]);
  expect(await known(() => places.homeOf("other", 15_000))).toBe(null);
  expect(places.homeless(shownEvents([{ ...inner(), agent_id: "other" } as Event], { from: 15_000 }))).toEqual([
    "other",
  ]);
});

test("a block is left out only where agents did all of it whose rows stand elsewhere", async () => {
  const sub = { agent_id: "sub", first: 1, began: 10, name: "a", outcome: null, events: 10, calls: 4 };
  const { places } = placesOf({
    0: { agents: [sub], inner: [51] },
    1: { agents: [{ ...sub, agent_id: "x", began: null }], inner: [10_001] },
  }, 20_000);
  expect(places.isInner(1)).toBe(false);
  expect(await known(() => places.isInner(1, { isLikely: true }) || undefined)).toBe(true);
  expect([places.isInner(1), places.isInner(2)]).toEqual([true, false]);
  expect(await known(() => places.isInner(200, { isLikely: true }) || undefined)).toBe(undefined);
});

test("an answer far below is found for its call, also one that comes later; its own row is known to stand above", async () => {
  const { places, asked, state } = placesOf({
    2: { answers: [{ call_id: "c", call: null, seq: 25_000 }, { call_id: "d", call: 20_100, seq: 20_300 }] },
  }, 30_000);
  const call = (call_id: string): Event => ({ type: "tool_call", call_id, tool: "T", kind: "other", input: {} });
  const answer = (call_id: string): Event => {
    return { type: "tool_result", call_id, tool: "T", output: "", success: true, duration_ms: 1 };
  };
  const ask = (call_id: string) => places.answersTo(shownEvents([call(call_id)], { from: 5000 }), [])[0];
  expect(await known(() => ask("c"))).toBe(25_000);
  expect(asked).toEqual([0, 1, 2]);
  expect(places.answeredAbove(shownEvents([answer("d")], { from: 20_300 }), [])).toEqual([20_300]);
  expect(places.answeredAbove(shownEvents([answer("c")], { from: 25_000 }), [])).toEqual([]);
  expect(ask("late")).toBe(undefined);
  for (const one of shownEvents([answer("late")], { from: 30_001 })) places.append(one);
  state.last = 30_001;
  expect(ask("late")).toBe(30_001);
});
