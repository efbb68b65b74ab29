import { expect, test } from "vitest";
import { wireText } from "../../../../../core/doors/console/page/spend/wire-text.ts";

const seen = { calls: 3, unknown: 0, tokens_in: 900, tokens_out: 100, tokens_cached: 0, cost: null, currency: null };

test("wireText tells the calls that the host saw, and where the agent reports other figures", () => {
  expect(wireText(seen)).toBe("3 model calls seen");
  expect(wireText({ ...seen, calls: 1, unknown: 1 })).toBe("1 model call seen · 1 without whole figures");
  expect(wireText({ ...seen, unknown: 1, counted: { tokens: 40_500, cost: 0 } })).toBe(
    "3 model calls seen · 1 without whole figures · a budget counts 40.5 k tokens",
  );
  expect(wireText({ ...seen, reported_tokens: 40_500 })).toBe("3 model calls seen · the agent reports 40.5 k tokens");
});
