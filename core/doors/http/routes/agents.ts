import { Type } from "@sinclair/typebox";
import { type AgentCapabilities, agentCapabilitiesSchema } from "../../../../plugin-sdk/capabilities.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { checkInput } from "../check-input.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { accessModeStatusSchema } from "../../../../plugin-sdk/access-modes.ts";
import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import { availabilities, healthStatusSchema } from "../../../../plugin-sdk/availability.ts";
import { acceptedFields, type ConfigSchema, talkAbilities } from "../../../../plugin-sdk/manifest.ts";
import { maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";

const anyMap = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }));
const mode = named("AccessModeStatus", accessModeStatusSchema);

const agentSchema: SchemaOf<AgentReport> = named(
  "Agent",
  exactly<AgentReport>()(Type.Object({
    id: text,
    name: text,
    version: maybe(text),
    adapter_type: maybe(oneOf(["agent", "cli", "acp", "model", "tool"] as const)),
    description: Type.Optional(text),
    config: Type.Optional(Type.Unsafe<ConfigSchema>(anyMap)),
    output_schema: Type.Optional(anyMap),
    expose: Type.Optional(Type.Literal("tool")),
    availability: oneOf([...availabilities, "unavailable"] as const),
    reason: text,
    quarantined: Type.Optional(Type.Boolean()),
    next_step: Type.Optional(text),
    agent_version: Type.Optional(text),
    tested: Type.Optional(text),
    newer_than_tested: Type.Optional(Type.Boolean()),
    settings_of: Type.Optional(text),
    checked_at: text,
    health: named("Health", healthStatusSchema),
    access_mode: maybe(mode),
    access_modes: Type.Array(mode),
    capabilities: named("Capabilities", agentCapabilitiesSchema),
    accepts: Type.Optional(Type.Array(oneOf([...acceptedFields, ...talkAbilities] as const))),
    models: Type.Array(text),
    primary: Type.Boolean(),
  })),
);

const query = Type.Object({
  refresh: Type.Optional(Type.Boolean({ description: "ask every agent now" })),
  probe: Type.Optional(Type.Boolean({ description: "false: ask no agent" })),
  require: Type.Optional(
    Type.String({ maxLength: 4096, description: "JSON of the capabilities that the primary agent must have" }),
  ),
}, closed);

/** Agents and whether they could take a session now. */
export const agentRoutes: readonly ApiRoute[] = [
  route({
    id: "listAgents",
    at: "GET /v1/agents",
    summary: "list agents and whether each could take a session now",
    scope: "any",
    query,
    answers: ok("every agent", Type.Object({ agents: Type.Array(agentSchema) })),
    async handle({ query: { require, ...wanted }, sessions }) {
      const needed = require === undefined ? {} : { require: readRequire(require) };
      return json({ agents: await sessions.agents({ ...wanted, ...needed }) });
    },
  }),
];

/** @throws {BulkheadError} `invalid_request` */
function readRequire(text: string): AgentCapabilities {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BulkheadError("invalid_request", 'The query is not valid: "require" is not JSON.');
  }
  return checkInput(agentCapabilitiesSchema, value, 'The query\'s "require"') as AgentCapabilities;
}
