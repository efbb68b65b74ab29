import { expect, test } from "vitest";
import type { SessionEvents } from "../../../../core/doors/console/page/session-events.ts";
import { TimelineLayout, type TimelinePart } from "../../../../core/doors/console/page/timeline-layout.ts";

const head = (key: string): TimelinePart => ({ key, kind: "head", draw: () => null });
const body = (session_id: string, [from, to]: [number, number | null], last: { value: number }): TimelinePart => ({
  key: `${session_id}-${from}`,
  kind: "events",
  events: { last } as unknown as SessionEvents,
  place: { session_id, isDivided: true },
  from,
  to,
});
const keysOf = (layout: TimelineLayout) => [...layout.keys().keys()];

test("a layout has an item for each head and each block of a part's events, and finds events in them", () => {
  const last = { value: 130 };
  const layout = new TimelineLayout([head("t1"), body("a", [1, 59], last), head("t2"), body("a", [60, null], last)]);
  expect(keysOf(layout)).toEqual(["t1", "a/0", "a/1", "t2", "a/1+60", "a/2"]);
  const find = (seq: number) => layout.find({ session_id: "a", seq, key: "" });
  expect([1, 50, 51, 59, 60, 100, 101].map(find)).toEqual([1, 1, 2, 2, 4, 4, 5]);
  expect(layout.find({ session_id: "a", seq: null, key: "t2" })).toBe(3);
  expect(layout.find({ session_id: "b", seq: 4, key: "none" })).toBe(0);
  expect(layout.item(4)).toMatchObject({ block: 1, part: { from: 60 } });
});

test("a layout goes on from another where items were only added at its end", () => {
  const last = { value: 40 };
  const parts = [head("t1"), body("a", [1, null], last)];
  const before = new TimelineLayout(parts);
  last.value = 70;
  const after = new TimelineLayout(parts);
  expect([before.count, after.count]).toEqual([2, 3]);
  expect(after.continues(before)).toBe(true);
  expect(before.continues(after)).toBe(false);
  expect(new TimelineLayout([...parts]).continues(after)).toBe(false);
  // A block keeps its key after its turn got a head.
  expect(keysOf(new TimelineLayout([body("a", [1, null], last)]))).toEqual(["a/0", "a/1"]);
});

test("a part without events has no item, and a layout without parts none", () => {
  expect(new TimelineLayout([body("a", [1, null], { value: 0 }), head("t1")]).count).toBe(1);
  expect(new TimelineLayout([]).count).toBe(0);
});

test("a layout of a part of which only some rows are shown has their blocks alone", () => {
  const part = { ...body("a", [1, null], { value: 400 }), only: { mark: "failures" as const, blocks: [1, 6] } };
  const layout = new TimelineLayout([head("t1"), part, head("t2"), { ...part, only: { ...part.only, blocks: [] } }]);
  expect(keysOf(layout)).toEqual(["t1", "a/1", "a/6", "t2"]);
  expect([51, 100, 301, 399].map((seq) => layout.find({ session_id: "a", seq, key: "" }))).toEqual([1, 1, 2, 2]);
  expect(layout.item(2).block).toBe(6);
});
