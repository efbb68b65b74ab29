import { expect, test } from "vitest";
import {
  currenciesOf,
  dayOf,
  grouped,
  spansOf,
  sumOf,
} from "../../../../../core/doors/console/page/spend/spend-sums.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";

const row: UsageRow = {
  day: "2026-11-24",
  adapter_id: "a",
  model: "m",
  basis: "reported",
  cost: 1,
  currency: "USD",
  tokens_in: 10,
  tokens_out: null,
  tokens_cached: null,
  sessions: 1,
  partial: 0,
  requests: null,
};

test("spansOf names local days one after another, over a change of the clock, and weeks from their Mondays", () => {
  const week = spansOf(7, new Date(2026, 9, 28, 0, 10));
  expect(week.map(({ first }) => first)).toEqual([22, 23, 24, 25, 26, 27, 28].map((day) => `2026-10-${day}`));
  expect(week.at(-1)).toMatchObject({ names: ["Wed", "Oct", "28"], title: "Wednesday, October 28" });
  const weeks = spansOf(90, new Date(2026, 10, 29, 23, 50));
  expect(weeks.at(-1)).toMatchObject({ first: "2026-11-23", last: "2026-11-29" });
  expect(weeks.at(-2)).toMatchObject({ first: "2026-11-16", last: "2026-11-22" });
  expect(weeks[0]).toMatchObject({ first: "2026-09-01", last: "2026-09-06" });
});

test("sumOf keeps reported, estimated, unbilled and unknown costs apart, and leaves other currencies out", () => {
  const rows: UsageRow[] = [
    row,
    { ...row, basis: "estimated", cost: 2, tokens_out: 5 },
    { ...row, cost: null, currency: null, sessions: 4 },
    { ...row, cost: 0, currency: null },
    { ...row, currency: "EUR", cost: 7, sessions: 2 },
  ];
  expect(sumOf(rows, "USD")).toMatchObject({
    reported: 1,
    estimated: 2,
    sessions: 9,
    by: { reported: 3, estimated: 1, not_billed: 1, unknown: 4 },
    tokens_in: 50,
    tokens_out: 5,
    tokens_cached: null,
  });
  expect(currenciesOf(rows)).toEqual(["USD", "EUR"]);
  expect(grouped(rows, ({ basis }) => basis, "EUR").map(({ name }) => name)).toEqual(["reported", "estimated"]);
});

test("dayOf is the bar of that day in spansOf", () => {
  const [first] = spansOf(7, new Date(2026, 2, 30, 9));
  expect(dayOf("2026-03-24")).toEqual(first);
});
