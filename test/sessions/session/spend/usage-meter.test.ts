import { describe, expect, test } from "vitest";
import { UsageMeter } from "../../../../core/sessions/session/spend/usage-meter.ts";
import { api, subscription } from "../../routing/modes.ts";
import type { CompletedEvent, UsageEvent } from "../../../../plugin-sdk/events.ts";

function usage(scope: "turn" | "session", changes: Partial<UsageEvent> = {}): UsageEvent {
  return { type: "usage", scope, tokens_in: null, tokens_out: null, tokens_cached: null, cost: null, ...changes };
}

function done(changes: Partial<CompletedEvent> = {}): CompletedEvent {
  return { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null, ...changes };
}

describe("UsageMeter", () => {
  test("what nobody reports is null, never zero, and its basis is unknown", () => {
    expect(new UsageMeter().report(7)).toEqual({
      tokens_in: null,
      tokens_out: null,
      tokens_cached: null,
      cost: null,
      currency: null,
      model: null,
      duration_ms: 7,
      scope: null,
      basis: "unknown",
    });
  });

  test("a session's totals do not fall to zero, and zero is told where nothing else was", () => {
    const meter = new UsageMeter();
    meter.take(usage("session", { tokens_in: 0, tokens_out: 3, cost: 0 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: 0, tokens_out: 3, cost: 0 });
    meter.take(usage("session", { tokens_in: 9, tokens_out: 4, cost: 0.01 }));
    meter.take(usage("session", { tokens_in: 0, tokens_out: 0, cost: 0 }));
    meter.take(usage("session", { tokens_in: 9, tokens_out: 0, cost: 0 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: 9, tokens_out: 4, cost: 0.01 });
    meter.take(usage("session", { tokens_in: 10, cost: 0.009 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: 10, cost: 0.009 });
  });

  test.each(["turn", "session"] as const)("no token in and out of a %s is one that was not counted", (scope) => {
    const meter = new UsageMeter();
    meter.take(usage(scope, { tokens_in: 0, tokens_out: 0 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: null, tokens_out: null, basis: "unknown" });
    meter.take(usage(scope, { tokens_in: 4, tokens_out: 1 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: 4, tokens_out: 1, basis: "reported" });
  });

  test("figures that leave calls out say so, also after whole ones and in the next attempt", () => {
    const meter = new UsageMeter();
    meter.take(usage("turn", { tokens_in: 5 }));
    expect(meter.report(1)).not.toHaveProperty("partial");
    meter.take(usage("turn", { tokens_in: 5, partial: true }));
    meter.take(usage("turn", { tokens_in: 5, partial: false }));
    meter.begin({ mode: null });
    expect(meter.report(1)).toMatchObject({ tokens_in: null, partial: true });
  });

  test("requests that the host counted are the whole session's, and are there only where it counted some", () => {
    const meter = new UsageMeter();
    expect(meter.report(1)).not.toHaveProperty("requests");
    meter.begin({ mode: null });
    meter.requested();
    meter.begin({ mode: null });
    meter.requested();
    expect(meter.report(1)).toMatchObject({ requests: 2, tokens_in: null });
  });

  test("a sum that comes with the last word alone is told as a sum, and makes what was told before the least", () => {
    const meter = new UsageMeter();
    meter.begin({ mode: null });
    meter.complete(done({ tokens_used: 1234 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: null, tokens_out: null, tokens_used: 1234, basis: "reported" });
    meter.begin({ mode: null });
    meter.take(usage("session", { tokens_in: 10, tokens_out: 2 }));
    expect(meter.report(1)).toMatchObject({ tokens_in: 10, tokens_out: 2, partial: true });
    expect(meter.report(1)).not.toHaveProperty("tokens_used");
    meter.begin({ mode: null });
    expect(new UsageMeter().report(1)).not.toHaveProperty("tokens_used");
  });

  test("a later report takes nothing away by what it does not know", () => {
    const meter = new UsageMeter();
    meter.take(usage("turn", { tokens_in: 5, tokens_out: 2 }));
    meter.take(usage("session", { cost: 0.01, currency: "EUR" }));
    meter.take(usage("session", { tokens_out: 3 }));
    expect(meter.report(1)).toMatchObject({
      tokens_in: 5,
      tokens_out: 3,
      cost: 0.01,
      currency: "EUR",
      basis: "reported",
    });
    expect(meter.tokens).toBe(8);
  });

  test("turns add up; what one of them leaves out does not make the others unknown", () => {
    const meter = new UsageMeter();
    meter.take(usage("turn", { tokens_in: 10, tokens_out: 1, cost: 0.5, currency: "EUR", model: "m" }));
    meter.take(usage("turn", { tokens_in: 5, tokens_cached: 3 }));
    expect(meter.turns).toBe(2);
    expect(meter.tokens).toBe(16);
    expect(meter.report(1)).toMatchObject({
      tokens_in: 15,
      tokens_out: 1,
      tokens_cached: 3,
      cost: 0.5,
      currency: "EUR",
      model: "m",
      basis: "reported",
    });
  });

  test("a report of the session replaces the one before and stands above the turns", () => {
    const meter = new UsageMeter();
    meter.take(usage("turn", { tokens_in: 100, tokens_out: 100, cost: 9 }));
    meter.take(usage("session", { tokens_in: 1, tokens_out: 1, cost: 1 }));
    meter.take(usage("session", { tokens_in: 2, tokens_out: 3, cost: 2 }));
    expect([meter.tokens, meter.cost, meter.turns]).toEqual([5, 2, 1]);
    expect(meter.report(1)).toMatchObject({ tokens_in: 2, tokens_out: 3, cost: 2, currency: "USD" });
  });

  test("a price is of the model that the agent names, and a ceiling counts what has no price of its own", () => {
    const meter = new UsageMeter();
    meter.begin({ mode: api(), model: null });
    meter.take(usage("session", { tokens_in: 1000, tokens_out: 0, tokens_cached: 900 }));
    expect([meter.report(1).cost, meter.cost]).toEqual([null, null]);
    meter.model("big");
    expect([meter.report(1).cost, meter.cost]).toEqual([null, 1]);
    meter.begin({ mode: api(), model: "big" });
    meter.take(usage("session", { tokens_in: 1000, tokens_out: 0, tokens_cached: 0 }));
    expect([meter.report(1).cost, meter.cost]).toEqual([1, 2]);
    meter.begin({ mode: api(), model: null });
    meter.take(usage("session", { tokens_in: 1000, tokens_out: 0, tokens_cached: 0, model: "other" }));
    expect([meter.report(1).cost, meter.cost]).toEqual([1, 2]);
  });

  test("the last word fills in what was not reported, and changes nothing that was", () => {
    const meter = new UsageMeter();
    meter.complete(done({ cost: 3, tokens_used: 50 }));
    expect([meter.cost, meter.tokens]).toEqual([3, 50]);
    expect(meter.report(1)).toMatchObject({ cost: 3, currency: "USD", basis: "reported", tokens_in: null });
    meter.take(usage("turn", { cost: 1, tokens_in: 4 }));
    expect([meter.cost, meter.tokens]).toEqual([1, 4]);
  });

  test("its scope says whether the figures are of the whole session or only of the turns that were reported", () => {
    const scopeOf = (...events: UsageEvent[]) => {
      const meter = new UsageMeter();
      events.forEach((event) => meter.take(event));
      return meter.report(1).scope;
    };
    expect(scopeOf(usage("turn"))).toBeNull();
    expect(scopeOf(usage("turn", { tokens_in: 1 }))).toBe("turns");
    expect(scopeOf(usage("turn", { tokens_in: 1 }), usage("session", { tokens_in: 2 }))).toBe("session");
    const meter = new UsageMeter();
    meter.complete(done({ tokens_used: 5 }));
    expect(meter.report(1)).toMatchObject({ scope: "session", basis: "reported" });
  });

  test("amounts in several currencies are no cost, also when another follows", () => {
    const meter = new UsageMeter();
    meter.begin({ mode: api() });
    meter.take(usage("turn", { cost: 1, currency: "EUR", tokens_in: 1, tokens_out: 1 }));
    meter.take(usage("turn", { cost: 1, currency: "USD" }));
    meter.take(usage("turn", { cost: 1 }));
    expect([meter.cost, meter.report(1).currency, meter.tokens]).toEqual([null, null, 2]);
    meter.complete(done({ cost: 4 }));
    expect(meter.cost).toBeNull();
  });

  test("costs add up without what floating point leaves behind", () => {
    const meter = new UsageMeter();
    for (const cost of [0.1, 0.2, 0.0000001]) meter.take(usage("turn", { cost }));
    expect(meter.cost).toBe(0.3000001);
  });

  test("attempts add up, each with its own totals, prices and model", () => {
    const meter = new UsageMeter();
    meter.begin({ mode: api() });
    meter.take(usage("session", { tokens_in: 1000, tokens_out: 1000, model: "first" }));
    expect(meter.cost).toBe(3);
    meter.begin({ mode: subscription() });
    expect(meter.report(1)).toMatchObject({ tokens_in: 1000, cost: 3, currency: "USD", model: null, scope: "turns" });
    meter.take(usage("session", { tokens_in: 10, tokens_out: 20, model: "second" }));
    expect([meter.tokens, meter.cost, meter.turns]).toEqual([2030, 3, 0]);
    expect(meter.report(1)).toEqual({
      tokens_in: 1010,
      tokens_out: 1020,
      tokens_cached: null,
      cost: 3,
      currency: "USD",
      model: "second",
      duration_ms: 1,
      scope: "session",
      basis: "estimated",
    });
    meter.begin({ mode: null });
    meter.complete(done({ tokens_used: 70 }));
    expect(meter.tokens).toBe(2100);
    expect(meter.report(1)).toMatchObject({ cost: 3, scope: "session" });
  });

  test("a cost that is estimated counts while the session runs, and gives way to one that is reported", () => {
    const meter = new UsageMeter();
    meter.begin({ mode: api() });
    meter.take(usage("turn", { tokens_in: 500, tokens_out: 0 }));
    expect(meter.cost).toBe(0.5);
    meter.take(usage("turn", { tokens_in: 500, tokens_out: 250 }));
    expect(meter.report(1)).toMatchObject({ cost: 1.5, currency: "USD", basis: "estimated", scope: "turns" });
    meter.complete(done({ cost: 0.7 }));
    expect(meter.report(1)).toMatchObject({ cost: 0.7, basis: "reported" });
  });

  test("free is zero and known", () => {
    const meter = new UsageMeter();
    meter.take(usage("turn", { cost: 0 }));
    expect(meter.report(1)).toMatchObject({ cost: 0, currency: "USD", basis: "reported" });
  });

  test("the agent's own word on its model holds until a later one", () => {
    const meter = new UsageMeter();
    meter.model("first");
    meter.model(undefined);
    meter.take(usage("turn"));
    expect(meter.report(1).model).toBe("first");
    meter.take(usage("turn", { model: "second" }));
    expect(meter.report(1).model).toBe("second");
  });
});
