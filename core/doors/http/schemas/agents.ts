import { Type } from "@sinclair/typebox";
import { accessModeStatusSchema } from "../../../../plugin-sdk/access-modes.ts";
import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import { availabilities, healthStatusSchema } from "../../../../plugin-sdk/availability.ts";
import { agentCapabilitiesSchema } from "../../../../plugin-sdk/capabilities.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";

const mode = named("AccessModeStatus", accessModeStatusSchema);

/** {@link AgentReport}. */
export const agentSchema: SchemaOf<AgentReport> = named(
  "Agent",
  exactly<AgentReport>()(Type.Object({
    id: text,
    name: text,
    version: maybe(text),
    adapter_type: maybe(oneOf(["agent", "cli", "acp", "model", "tool"] as const)),
    availability: oneOf([...availabilities, "unavailable"] as const),
    reason: text,
    next_step: Type.Optional(text),
    agent_version: Type.Optional(text),
    settings_of: Type.Optional(text),
    checked_at: text,
    health: named("Health", healthStatusSchema),
    access_mode: maybe(mode),
    access_modes: Type.Array(mode),
    capabilities: named("Capabilities", agentCapabilitiesSchema),
    models: Type.Array(text),
    primary: Type.Boolean(),
  })),
);
