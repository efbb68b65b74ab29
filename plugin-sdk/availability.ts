import { Type } from "@sinclair/typebox";
import type { AccessMode } from "./access-modes.ts";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** All states an agent can be in, always determined by a probe. */
export const availabilities = [
  "available",
  "missing",
  "unrunnable",
  "incompatible",
  "unauthenticated",
  "rate_limited",
  "quota_exhausted",
  "disabled",
] as const;

/** State of an agent: whether it can take a session now. */
export type Availability = (typeof availabilities)[number];

/** Result of a probe. */
export interface AvailabilityReport {
  availability: Availability;
  /** Reason, in one sentence. */
  reason: string;
  /** Next step for a person, in one sentence. */
  next_step?: string;
  /** The agent's own version, if it reports one. */
  version?: string;
  /** How the agent itself says that it is logged in: its sessions use no mode of another type. Never a guess. */
  access_mode?: AccessMode["type"];
}

/**
 * Health of an adapter: `healthy` means found and authenticated; `degraded` means that, but limited or with a failed
 * custom check; everything else is `unhealthy`.
 */
export interface HealthStatus {
  status: "healthy" | "degraded" | "unhealthy";
  latency_ms: number;
  /** RFC 3339, UTC. */
  last_check: string;
  error?: string;
  details: {
    binary_found: boolean;
    binary_version?: string;
    authenticated: boolean;
    rate_limit_remaining?: number;
    custom_checks?: Record<string, boolean>;
  };
}

/** Checks {@link AvailabilityReport}. */
export const availabilityReportSchema: SchemaOf<AvailabilityReport> = exactly<AvailabilityReport>()(
  Type.Object({
    availability: Type.Union(availabilities.map((name) => Type.Literal(name))),
    reason: Type.String({ maxLength: 4096 }),
    next_step: Type.Optional(Type.String({ maxLength: 4096 })),
    version: Type.Optional(Type.String({ maxLength: 256 })),
    access_mode: Type.Optional(
      Type.Union([Type.Literal("subscription"), Type.Literal("api"), Type.Literal("local")]),
    ),
  }, closed),
);

/** Checks {@link HealthStatus}. */
export const healthStatusSchema: SchemaOf<HealthStatus> = exactly<HealthStatus>()(
  Type.Object({
    status: Type.Union([Type.Literal("healthy"), Type.Literal("degraded"), Type.Literal("unhealthy")]),
    latency_ms: Type.Number({ minimum: 0 }),
    last_check: Type.String({ maxLength: 40 }),
    error: Type.Optional(Type.String({ maxLength: 4096 })),
    details: Type.Object({
      binary_found: Type.Boolean(),
      binary_version: Type.Optional(Type.String({ maxLength: 256 })),
      authenticated: Type.Boolean(),
      rate_limit_remaining: Type.Optional(Type.Number()),
      custom_checks: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.Boolean())),
    }, closed),
  }, closed),
);
