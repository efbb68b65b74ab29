import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  highestPrice,
  priceUsage,
  roundMoney,
  untold,
  type UsageFigures,
} from "../../../../core/sessions/session/spend/priced-usage.ts";
import type { Pricing } from "../../../../plugin-sdk/access-modes.ts";
import { api, local, subscription } from "../../routing/modes.ts";

function figures(changes: Partial<UsageFigures> = {}): UsageFigures {
  return { ...untold, ...changes };
}

function priced(changes: Partial<UsageFigures>, prices: Partial<Pricing> = {}) {
  const pricing = { input_per_1k_tokens: 1, output_per_1k_tokens: 2, currency: "EUR", ...prices };
  const { cost, currency, basis } = priceUsage(figures(changes), { mode: api({ pricing }) });
  return { cost, currency, basis };
}

const unknown = { cost: null, currency: null, basis: "unknown" };

describe("priceUsage", () => {
  test("a cost that the agent reports stands", () => {
    const said = figures({ cost: 0.25, currency: "USD", basis: "reported", tokens_in: 9, tokens_out: 9 });
    for (const mode of [null, api(), subscription(), local()]) expect(priceUsage(said, { mode })).toBe(said);
  });

  test("tokens through an API cost what its prices say, in their currency", () => {
    expect(priced({ tokens_in: 1500, tokens_out: 250, basis: "reported" })).toEqual({
      cost: 2,
      currency: "EUR",
      basis: "estimated",
    });
    expect(priced({ tokens_in: 0, tokens_out: 0 })).toEqual({ cost: 0, currency: "EUR", basis: "estimated" });
  });

  test.each([
    [{ tokens_in: 5 }, {}],
    [{ tokens_out: 5 }, {}],
    [{}, {}],
    [{ tokens_in: 5, tokens_out: 5 }, { input_per_1k_tokens: null }],
    [{ tokens_in: 5, tokens_out: 5 }, { output_per_1k_tokens: null }],
    [{ tokens_in: 5, tokens_out: 5, tokens_cached: 1 }, {}],
    [{ tokens_in: 5, tokens_out: 5, tokens_cached: 1 }, { cached_per_1k_tokens: null }],
  ])("with %j at %j the cost is unknown, never zero", (tokens, prices) => {
    expect(priced(tokens, prices)).toEqual(unknown);
  });

  test("what is free costs nothing, however much of it there was", () => {
    expect(priced({}, { input_per_1k_tokens: 0, output_per_1k_tokens: 0 }).cost).toBe(0);
    expect(priced({ tokens_out: 500 }, { input_per_1k_tokens: 0 }).cost).toBe(1);
    for (const mode of [subscription(), local()]) {
      expect(priceUsage(figures(), { mode })).toMatchObject({ cost: 0, currency: null, basis: "estimated" });
    }
  });

  test("input from the cache has its own price, and counts as other input for a ceiling where that is unknown", () => {
    const used = { tokens_in: 1000, tokens_out: 0, tokens_cached: 900 };
    expect(priced(used, { cached_per_1k_tokens: 0.1 }).cost).toBe(0.19);
    expect(priced(used, { cached_per_1k_tokens: 0 }).cost).toBe(0.1);
    expect(priced({ ...used, tokens_cached: 5000 }, { cached_per_1k_tokens: 0.1 }).cost).toBe(0.1);
    expect(priced({ ...used, tokens_cached: 0 }).cost).toBe(1);
    expect(highestPrice(figures(used), { mode: api() }).cost).toBe(1);
    expect(highestPrice(figures(used), { mode: null }).cost).toBeNull();
    expect(priced({ ...used, tokens_in: null }, { input_per_1k_tokens: 0 }).cost).toBe(0);
  });

  test("prices are of the mode's model, and of no other that was asked for", () => {
    const used = figures({ tokens_in: 1000, tokens_out: 0 });
    expect(priceUsage(used, { mode: api({ model: "big" }), model: "small" })).toBe(used);
    expect(priceUsage(used, { mode: api({ model: "big" }), model: "big" }).cost).toBe(1);
    expect(priceUsage(used, { mode: api({ model: "big" }), model: "big-2026-01-31" }).cost).toBe(1);
    expect(priceUsage(used, { mode: api({ model: "big" }), model: "bigger" })).toBe(used);
    expect(priceUsage(used, { mode: api({ model: "big" }), model: null })).toBe(used);
    expect(priceUsage(used, { mode: null }).cost).toBeNull();
  });

  test("a cost is exact to nine places and has no more", () => {
    const tokens = fc.nat(10_000_000);
    // Prices as people write them: a whole number of millionths for a thousand tokens.
    const price = fc.nat(1_000_000);
    fc.assert(fc.property(tokens, tokens, price, price, (tokens_in, tokens_out, input, output) => {
      const { cost } = priced({ tokens_in, tokens_out }, {
        input_per_1k_tokens: input / 1e6,
        output_per_1k_tokens: output / 1e6,
      });
      const billionths = BigInt(tokens_in) * BigInt(input) + BigInt(tokens_out) * BigInt(output);
      expect(Math.abs(cost! * 1e9 - Number(billionths))).toBeLessThanOrEqual(Math.max(1, Number(billionths) * 1e-15));
      expect(Number(cost!.toFixed(9))).toBe(cost);
    }));
    expect(priced({ tokens_in: 1, tokens_out: 0 }, { input_per_1k_tokens: 0.00015 }).cost).toBe(1.5e-7);
  });

  test("roundMoney leaves alone what has nothing to round", () => {
    expect(roundMoney(0.1 + 0.2)).toBe(0.3);
    expect(roundMoney(1e308)).toBe(1e308);
  });
});
