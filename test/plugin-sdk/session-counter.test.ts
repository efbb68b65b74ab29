import { expect, test } from "vitest";
import { SessionCounter } from "../../plugin-sdk/session-counter.ts";

const counts = (tokens_in: number | null, cost: number | null = null) => ({
  tokens_in,
  tokens_out: null,
  tokens_cached: null,
  cost,
});

test("SessionCounter gives each turn what it used, of figures that an agent adds up", () => {
  const counter = new SessionCounter();
  expect(counter.turn).toEqual(counts(null));
  counter.take(counts(100, 0.5));
  expect(counter.turn).toEqual(counts(100, 0.5));
  counter.beginTurn();
  expect(counter.turn).toEqual(counts(0, 0));
  counter.take(counts(130));
  expect(counter.turn).toEqual(counts(30, 0));
  counter.take(counts(150, 0.75));
  expect(counter.turn).toEqual(counts(50, 0.25));
});

test("SessionCounter adds parts, and begins again with an agent whose figures begin again", () => {
  const counter = new SessionCounter();
  counter.add(counts(100));
  counter.add(counts(20, 1));
  expect(counter.turn).toEqual(counts(120, 1));
  counter.beginTurn();
  counter.add(counts(5));
  expect(counter.turn).toEqual(counts(5, 0));
  counter.take(counts(40, 0.25));
  expect(counter.turn).toEqual(counts(40, 0.25));
});
