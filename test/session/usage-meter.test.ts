import { describe, expect, test } from "vitest";
import { UsageMeter } from "../../core/session/usage-meter.ts";
import type { CompletedEvent, UsageEvent } from "../../plugin-sdk/events.ts";

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
      basis: "unknown",
    });
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

  test("the last word fills in what was not reported, and changes nothing that was", () => {
    const meter = new UsageMeter();
    meter.complete(done({ cost: 3, tokens_used: 50 }));
    expect([meter.cost, meter.tokens]).toEqual([3, 50]);
    expect(meter.report(1)).toMatchObject({ cost: 3, currency: "USD", basis: "reported", tokens_in: null });
    meter.take(usage("turn", { cost: 1, tokens_in: 4 }));
    expect([meter.cost, meter.tokens]).toEqual([1, 4]);
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
