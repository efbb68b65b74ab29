import { Type } from "@sinclair/typebox";
import { currencyPattern } from "./currency.ts";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** Ceilings of a provider's plan. */
export interface RateLimits {
  requests_per_minute?: number;
  requests_per_hour?: number;
  requests_per_day?: number;
  tokens_per_day?: number;
}

/** Price of a model; free is 0, unknown is null. */
export interface Pricing {
  input_per_1k_tokens: number | null;
  output_per_1k_tokens: number | null;
  /** Price of input that the provider's cache held; absent is unknown. */
  cached_per_1k_tokens?: number | null;
  /** ISO 4217 code, such as `USD`. */
  currency: string;
}

interface AccessModeBase {
  /**
   * 1 is tried first; ties keep the listed order. Absent: after those with a priority, in the order subscription, api,
   * local.
   */
  priority?: number;
  enabled: boolean;
}

/** Use under a plan that the user pays for by the month. */
export interface SubscriptionAccess extends AccessModeBase {
  type: "subscription";
  plan: string;
  rate_limits: RateLimits;
}

/** Use paid by the token through a provider's API. */
export interface ApiAccess extends AccessModeBase {
  type: "api";
  model: string;
  pricing: Pricing;
  max_tokens: number;
  endpoint?: string;
  /** Name of the environment variable that holds the key. */
  api_key_env_var?: string;
}

/** A model served on this machine or network. */
export interface LocalAccess extends AccessModeBase {
  type: "local";
  model: string;
  endpoint: string;
}

/** A way to reach an agent, and who pays for it. */
export type AccessMode = SubscriptionAccess | ApiAccess | LocalAccess;

/** Current state of an access mode. */
export interface AccessModeStatus {
  type: AccessMode["type"];
  status: "available" | "rate_limited" | "unavailable";
  /** Name of the key that it needs and the host cannot give. */
  missing_key?: string;
  /** In the last 24 hours, counted by the host and kept over restarts. */
  current: { requests: number; tokens: number };
  limits: RateLimits;
  /** RFC 3339, UTC. */
  reset_at: string | null;
  /** Seconds until a request may go through. */
  estimated_wait: number | null;
  /** Limits that the provider told in its last answer, where the host sees the calls; those that are over are left out. */
  quota?: QuotaWindow[];
}

/** A limit of a provider for a span of time, as its last answer told it. */
export interface QuotaWindow {
  /** The provider's own name, with `_`: `requests`, `input_tokens`. */
  name: string;
  limit: number | null;
  remaining: number | null;
  /** RFC 3339, UTC; null where it was not told. */
  reset_at: string | null;
}

/** Fields of the schema of {@link QuotaWindow}. */
const quotaWindow = {
  name: Type.String({ maxLength: 64 }),
  limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  remaining: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  reset_at: Type.Union([Type.String(), Type.Null()]),
};

const count = Type.Integer({ minimum: 0 });
const rateLimits = Type.Object({
  requests_per_minute: Type.Optional(count),
  requests_per_hour: Type.Optional(count),
  requests_per_day: Type.Optional(count),
  tokens_per_day: Type.Optional(count),
}, closed);
const price = Type.Union([Type.Number({ minimum: 0 }), Type.Null()]);
const pricing = Type.Object({
  input_per_1k_tokens: price,
  output_per_1k_tokens: price,
  cached_per_1k_tokens: Type.Optional(price),
  currency: Type.String({ pattern: currencyPattern }),
}, closed);
const base = { priority: Type.Optional(Type.Integer({ minimum: 1 })), enabled: Type.Boolean() };
const text = Type.String({ minLength: 1, maxLength: 256 });

/** Checks {@link AccessMode}. */
export const accessModeSchema: SchemaOf<AccessMode> = exactly<AccessMode>()(
  Type.Union([
    Type.Object({ type: Type.Literal("subscription"), ...base, plan: text, rate_limits: rateLimits }, closed),
    Type.Object({
      type: Type.Literal("api"),
      ...base,
      model: text,
      pricing,
      max_tokens: Type.Integer({ minimum: 1 }),
      endpoint: Type.Optional(text),
      api_key_env_var: Type.Optional(text),
    }, closed),
    Type.Object({ type: Type.Literal("local"), ...base, model: text, endpoint: text }, closed),
  ]),
);

/** Checks {@link AccessModeStatus}. */
export const accessModeStatusSchema: SchemaOf<AccessModeStatus> = exactly<AccessModeStatus>()(
  Type.Object({
    type: Type.Union([Type.Literal("subscription"), Type.Literal("api"), Type.Literal("local")]),
    status: Type.Union([Type.Literal("available"), Type.Literal("rate_limited"), Type.Literal("unavailable")]),
    missing_key: Type.Optional(text),
    current: Type.Object({ requests: count, tokens: count }, closed),
    limits: rateLimits,
    reset_at: Type.Union([Type.String(), Type.Null()]),
    estimated_wait: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
    quota: Type.Optional(Type.Array(Type.Object(quotaWindow, closed), { maxItems: 12 })),
  }, closed),
);
