import { expect, test } from "vitest";
import { forecastOf } from "../../../../../core/doors/console/page/spend/forecast.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";

const row: UsageRow = {
  day: "2026-11-24",
  adapter_id: "a",
  model: "m",
  basis: "reported",
  cost: 7,
  currency: "USD",
  tokens_in: 10,
  tokens_out: null,
  tokens_cached: null,
  sessions: 1,
  partial: 0,
  requests: null,
};

test("forecastOf adds the pace of the last seven days to what the month has cost, each kind by itself", () => {
  const rows: UsageRow[] = [
    { ...row, day: "2026-10-31", cost: 1000 },
    { ...row, day: "2026-11-02", cost: 30 },
    row,
    { ...row, basis: "estimated", cost: 14 },
    { ...row, day: "2026-11-25", cost: null, currency: null, sessions: 4 },
    { ...row, day: "2026-11-25", currency: "EUR", cost: 500 },
  ];
  expect(forecastOf(rows, { currency: "USD", now: new Date(2026, 10, 26, 9) })).toEqual({
    month: "November",
    soFar: { wire: 0, reported: 37, estimated: 14 },
    end: { wire: 0, reported: 41, estimated: 22 },
    unknown: 4,
  });
});

test("forecastOf knows the pace on the first day of a month, and leads nowhere on its last", () => {
  const before = { ...row, day: "2026-10-30", cost: 14 };
  const first = forecastOf([before], { currency: "USD", now: new Date(2026, 10, 1, 0, 5) });
  expect(first).toMatchObject({ soFar: { reported: 0 }, end: { reported: 58 } });
  const last = forecastOf([{ ...row, day: "2026-11-30" }], { currency: "USD", now: new Date(2026, 10, 30, 23) });
  expect(last).toMatchObject({ soFar: { reported: 7 }, end: { reported: 7 } });
});
