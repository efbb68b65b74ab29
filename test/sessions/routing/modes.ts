import type { ApiAccess, LocalAccess, RateLimits, SubscriptionAccess } from "../../../plugin-sdk/access-modes.ts";

export function subscription(
  changes: Partial<SubscriptionAccess> = {},
  rate_limits: RateLimits = {},
): SubscriptionAccess {
  return { type: "subscription", enabled: true, plan: "pro", rate_limits, ...changes };
}

export function api(changes: Partial<ApiAccess> = {}): ApiAccess {
  return {
    type: "api",
    enabled: true,
    model: "big",
    max_tokens: 1000,
    pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 2, currency: "USD" },
    ...changes,
  };
}

export function local(changes: Partial<LocalAccess> = {}): LocalAccess {
  return { type: "local", enabled: true, model: "small", endpoint: "http://127.0.0.1:1", ...changes };
}
