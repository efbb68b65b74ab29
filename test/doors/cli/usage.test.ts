import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { addUsage } from "../../../core/doors/cli/usage-rows.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import type { Host } from "../../../core/sessions/host/host.ts";
import type { BudgetReport } from "../../../plugin-sdk/budget-report.ts";
import type { UsageRow } from "../../../plugin-sdk/usage-row.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const row: UsageRow = {
  day: "2026-05-03",
  adapter_id: "a",
  model: null,
  basis: "reported",
  sessions: 1,
  tokens_in: 1,
  tokens_out: 2,
  tokens_cached: null,
  cost: 0.5,
  currency: "USD",
  partial: 0,
  requests: null,
};

test("rows are joined by day and adapter, each currency for itself, and what is unknown is counted", () => {
  const none = { tokens_in: null, tokens_out: null, cost: null, currency: null, basis: "unknown" } as const;
  const rows: UsageRow[] = [
    row,
    {
      ...row,
      model: "m",
      tokens_in: 10,
      tokens_out: 20,
      tokens_cached: 4,
      cost: 0.25,
      currency: "EUR",
      basis: "estimated",
      partial: 1,
      requests: 7,
    },
    { ...row, adapter_id: "b", ...none, sessions: 3 },
    { ...row, day: "2026-05-02", cost: null, currency: null },
  ];
  const zero = {
    tokens_in: null,
    tokens_out: null,
    tokens_cached: null,
    cost: {},
    estimated: false,
    unknown: 0,
    no_cost: 0,
    partial: 0,
    requests: null,
  };
  expect(addUsage(rows)).toEqual([
    {
      day: "2026-05-03",
      adapter_id: "a",
      ...zero,
      sessions: 2,
      tokens_in: 11,
      tokens_out: 22,
      tokens_cached: 4,
      cost: { USD: 0.5, EUR: 0.25 },
      estimated: true,
      partial: 1,
      requests: 7,
    },
    { day: "2026-05-03", adapter_id: "b", ...zero, unknown: 3, no_cost: 3, sessions: 3 },
    { day: "2026-05-02", adapter_id: "a", ...zero, no_cost: 1, sessions: 1, tokens_in: 1, tokens_out: 2 },
  ]);
});

test("bulkhead usage shows which figures are a part, and the requests that the host counted", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-usage-"));
  const rows = [{ ...row, partial: 1, requests: 7 }, { ...row, adapter_id: "b" }, {
    ...row,
    adapter_id: "c",
    cost: null,
    currency: null,
  }];
  const budget: BudgetReport = {
    name: "team-a",
    labels: { team: "a" },
    per: "day",
    since: "2026-05-31T00:00:00.000Z",
    until: "2026-06-01T00:00:00.000Z",
    cost: 20,
    tokens: null,
    spent_cost: 12.5,
    spent_tokens: 1000,
    currency: "USD",
    unpriced: 0,
    is_held: true,
  };
  const budgets = [
    budget,
    { ...budget, name: "spent", cost: null, tokens: 1000, per: null, until: null, unpriced: 2 },
    { ...budget, name: "apart", is_held: false },
  ];
  const sessions = { usage: () => Promise.resolve(rows), budgets: () => Promise.resolve(budgets) };
  const cli = async (...args: string[]) => {
    const terminal = fakeTerminal({ args: ["usage", "--embedded", "--state-dir", join(cwd, "state"), ...args], cwd });
    const host = { sessions, registry: { list: () => [], problems: () => [] }, close: () => Promise.resolve() };
    await runCli(terminal, { createHost: () => Promise.resolve(host as unknown as Host) });
    return terminal.out();
  };
  try {
    const [, first, second, third, all] = (await cli()).split("\n");
    expect(first).toMatch(/ a .*7 requests, 1 counted in part/);
    expect(second).toMatch(/ b .* \$0\.50$/);
    expect(third).toMatch(/ c .* -\s+1 without a cost$/);
    expect(all).toMatch(/^ all .*7 requests, 1 without a cost, 1 counted in part/);
    expect((await cli()).split("\n").slice(-5)).toEqual([
      "",
      " budget team-a: $12.50 of $20.00 today",
      " budget spent: 1,000 of 1,000 tokens, spent, 2 without a price",
      " budget apart: not held, in a cluster no machine knows what the others spend",
      "",
    ]);
    expect((await cli("--json")).split("\n")[0]).toContain('"partial":1,"requests":7');
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});

test("bulkhead usage says where there is nothing, and refuses days that are no number", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-usage-"));
  const cli = async (...args: string[]) => {
    const terminal = fakeTerminal({ args: ["usage", "--state-dir", join(cwd, "state"), ...args], cwd });
    const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
    return { code, out: terminal.out(), err: terminal.err() };
  };
  try {
    expect(await cli()).toMatchObject({ code: 0, out: "No session has ended in the last 7 days.\n" });
    expect(await cli("--json")).toMatchObject({ code: 0, out: "" });
    expect((await cli("--days", "soon")).err).toContain("Expected a number of days.");
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
