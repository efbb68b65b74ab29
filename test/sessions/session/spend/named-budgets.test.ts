import { describe, expect, test } from "vitest";
import type { BudgetSettings } from "../../../../core/ground/config/budget-settings.ts";
import { NamedBudgets, type PastCharge } from "../../../../core/sessions/session/spend/named-budgets.ts";

const asked = { workdir: "/w", prompt: "p" };
const charge = (cost: number, tokens = 0) => ({ cost, tokens, currency: "USD" });

function budgetsOf(
  budgets: Record<string, BudgetSettings>,
  { past = [], time = new Date(2026, 4, 31, 23, 59, 50) }: { past?: PastCharge[]; time?: Date } = {},
) {
  const clock = { now: time.getTime() };
  const spans: { since: number; until: number }[] = [];
  const named = new NamedBudgets({
    settings: () => budgets,
    isHeld: () => true,
    async *past(span) {
      spans.push(span);
      yield past;
    },
    now: () => clock.now,
  });
  return { named, clock, spans };
}

describe("a budget that sessions share", () => {
  test("covers the sessions with all of its labels, and no replay", async () => {
    const { named } = budgetsOf({ all: { tokens: 1 }, both: { labels: { team: "a", kind: "x" }, tokens: 1 } });
    const names = (labels?: Record<string, string>, replay_of?: string) =>
      named.covering({ ...labels && { labels }, ...replay_of && { replay_of } }).map(([name]) => name);
    expect([names(), names({ team: "a" }), names({ team: "a", kind: "x", more: "y" })])
      .toEqual([["all"], ["all"], ["all", "both"]]);
    expect(names({}, "s")).toEqual([]);
    const { named: other } = budgetsOf({ a: { labels: { team: "a" }, cost: 1 } });
    expect(await other.open(asked)).toMatchObject({ isCovered: false });
    expect(await other.open({ ...asked, replay_of: "s" })).toBeNull();
  });

  test("holds sessions that began before it, from then on", async () => {
    const budgets: Record<string, BudgetSettings> = {};
    const { named } = budgetsOf(budgets);
    const account = (await named.open(asked))!;
    account.charge(charge(1, 5));
    expect([account.isCovered, account.spent()]).toEqual([false, null]);
    budgets["all"] = { tokens: 10 };
    expect(account.spent()).toBeNull();
    await new Promise(setImmediate);
    account.charge(charge(1, 10));
    expect(await named.report()).toMatchObject([{ spent_tokens: 10 }]);
    expect(account.spent()).toMatchObject({ name: "all", reason: "budget_tokens" });
  });

  test("counts each call in the day and the month of its end, by the host's clock", async () => {
    const { named, clock } = budgetsOf({
      daily: { per: "day", cost: 3 },
      monthly: { per: "month", cost: 3 },
      ever: { cost: 9 },
    });
    const account = (await named.open(asked))!;
    account.charge(charge(2));
    expect(account.spent()).toBeNull();
    account.charge(charge(1));
    expect(account.spent()).toMatchObject({
      name: "daily",
      reason: "budget_cost",
      message: 'The budget "daily" of 3 a day is spent.',
      until: new Date(2026, 5, 1).toISOString(),
    });
    await expect(named.open(asked)).rejects.toMatchObject({ code: "budget_exceeded", details: { budget: "daily" } });
    // Midnight, and another month.
    clock.now = new Date(2026, 5, 1).getTime();
    expect(account.spent()).toBeNull();
    account.charge(charge(1));
    expect((await named.report()).map(({ name, spent_cost }) => [name, spent_cost]))
      .toEqual([["daily", 1], ["monthly", 1], ["ever", 4]]);
    // A clock that is set back begins nothing.
    clock.now -= 60_000;
    expect((await named.report())[0]).toMatchObject({ spent_cost: 1 });
  });

  test("counts what the journal knows once, for each coverage", async () => {
    const past = [{ labels: { team: "a" }, ...charge(1, 10) }, { labels: {}, ...charge(2, 20) }];
    const budgets: Record<string, BudgetSettings> = { a: { labels: { team: "a" }, per: "day", tokens: 10 } };
    const { named, spans } = budgetsOf(budgets, { past });
    await Promise.all([named.report(), named.open({ ...asked, labels: { team: "b" } }), named.report()]);
    expect(spans).toEqual([{ since: new Date(2026, 4, 31).getTime(), until: expect.any(Number) }]);
    await expect(named.open({ ...asked, labels: { team: "a" } })).rejects.toMatchObject({ code: "budget_exceeded" });
    // A reload: another most is no other coverage, a new one is read.
    budgets["a"] = { labels: { team: "a" }, per: "day", tokens: 11 };
    budgets["all"] = { per: "day", cost: 5 };
    expect(await named.report()).toMatchObject([{ spent_tokens: 10 }, { spent_cost: 3, spent_tokens: 30 }]);
    expect(spans).toHaveLength(2);
  });

  test("counts at a session's end what its agent alone has told", async () => {
    const { named } = budgetsOf({ all: { cost: 9, tokens: 900 } });
    const account = (await named.open(asked))!;
    account.charge(charge(1, 10));
    account.charge({ cost: null, currency: null, tokens: 5 });
    account.settle({ cost: 1.5, currency: "USD", tokens_in: 10, tokens_out: 2 });
    account.settle({ cost: null, currency: null, tokens_in: null, tokens_out: null, tokens_used: 20 });
    expect(await named.report()).toMatchObject([{ spent_cost: 1.5, spent_tokens: 20, currency: "USD", unpriced: 1 }]);
  });

  test("begins no session once it is spent, but one that only waits", async () => {
    const { named } = budgetsOf({ none: { cost: 0 } });
    await expect(named.open(asked)).rejects.toMatchObject({ code: "budget_exceeded" });
    expect(await named.open({ ...asked, prompt: "" })).not.toBeNull();
  });

  test("asks again for what could not be read", async () => {
    let tries = 0;
    const named = new NamedBudgets({
      settings: () => ({ all: { cost: 1 } }),
      isHeld: () => true,
      // deno-lint-ignore require-yield
      async *past() {
        if (++tries === 1) throw new Error("no disk");
      },
    });
    await expect(named.open(asked)).rejects.toThrow("no disk");
    expect(await named.open(asked)).not.toBeNull();
    expect(tries).toBe(2);
  });
});
