import fc from "fast-check";
import { expect, test } from "vitest";
import { batchText, charactersOf, creditOf, extraCredit } from "../../core/channel/credit.ts";

test("host and guest come to the same cost of a batch, whatever its events are", () => {
  fc.assert(fc.property(fc.nat(), fc.array(fc.json(), { minLength: 1 }), (sid, events) => {
    const text = batchText(sid, events);
    const charged = events.length + extraCredit(events.join("").length);
    const characters = charactersOf(text, { sid, events: events.length });
    expect(creditOf({ events: events.length, characters })).toBe(charged);
    expect((JSON.parse(text) as { events: unknown[] }).events).toHaveLength(events.length);
  }));
});

test("a huge event costs as much as the small ones of its size", () => {
  expect(extraCredit(200_000)).toBe(48);
  expect(extraCredit(4095)).toBe(0);
});
