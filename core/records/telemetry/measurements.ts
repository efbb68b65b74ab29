import type { UsageReport } from "../../../plugin-sdk/result.ts";
import type { Attributes, Measurement } from "./span.ts";

/** Returns the attributes of what was used; unknown figures are left out. */
export function usageAttributes(
  { tokens_in, tokens_out, tokens_cached }: Pick<UsageReport, "tokens_in" | "tokens_out" | "tokens_cached">,
): Attributes {
  return {
    "gen_ai.usage.input_tokens": tokens_in,
    "gen_ai.usage.output_tokens": tokens_out,
    "gen_ai.usage.cache_read.input_tokens": tokens_cached,
  };
}

/** Returns how long work took that began at one moment and ended at another. */
export function duration(
  metric: Measurement["metric"],
  { from, to, attributes }: { from: number; to: number; attributes: Attributes },
): Measurement {
  return { metric, value: Math.max(0, to - from) / 1000, attributes };
}

/** Returns the tokens of one operation, in and out; unknown ones are left out. */
export function tokenMeasurements(
  operation: string,
  { adapter, model, tokens_in, tokens_out }: {
    adapter: string;
    model: string | undefined;
    tokens_in: number | null | undefined;
    tokens_out: number | null | undefined;
  },
): Measurement[] {
  const counts = [["input", tokens_in], ["output", tokens_out]] as const;
  return counts.flatMap(([type, value]): Measurement[] => {
    if (value === null || value === undefined) return [];
    const attributes = {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": adapter,
      "gen_ai.request.model": model,
      "gen_ai.token.type": type,
    };
    return [{ metric: "gen_ai.client.token.usage", value, attributes }];
  });
}
