import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** Capabilities that an agent either has or lacks. */
export const capabilityFlags = [
  "code_generation",
  "code_review",
  "refactoring",
  "testing",
  "documentation",
  "debugging",
  "multi_file",
  "project_context",
  "web_search",
] as const;

/** Capabilities of an agent, used to route sessions. Never confuse them with permissions. */
export interface AgentCapabilities {
  code_generation?: boolean;
  code_review?: boolean;
  refactoring?: boolean;
  testing?: boolean;
  documentation?: boolean;
  debugging?: boolean;
  multi_file?: boolean;
  project_context?: boolean;
  web_search?: boolean;
  /** Size of the agent's context window, in tokens. */
  max_context_tokens?: number;
  /** Capabilities outside this list, by name. */
  custom?: Record<string, boolean>;
}

/** Checks {@link AgentCapabilities}. */
export const agentCapabilitiesSchema: SchemaOf<AgentCapabilities> = exactly<AgentCapabilities>()(
  Type.Object({
    code_generation: Type.Optional(Type.Boolean()),
    code_review: Type.Optional(Type.Boolean()),
    refactoring: Type.Optional(Type.Boolean()),
    testing: Type.Optional(Type.Boolean()),
    documentation: Type.Optional(Type.Boolean()),
    debugging: Type.Optional(Type.Boolean()),
    multi_file: Type.Optional(Type.Boolean()),
    project_context: Type.Optional(Type.Boolean()),
    web_search: Type.Optional(Type.Boolean()),
    max_context_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    custom: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Boolean())),
  }, closed),
);
