import { InvalidArgumentError } from "commander";
import { type AgentCapabilities, capabilityFlags } from "../../../plugin-sdk/capabilities.ts";

/** The `--require` flag and its help. */
export const requireFlag = {
  flags: "--require <capability>",
  description: "what the agent must be able to do, as code_review, max_context_tokens=100000 or custom.x; repeat",
} as const;

/**
 * Adds a typed capability to those before it.
 * @throws {InvalidArgumentError} listing the capabilities
 */
export function readRequired(typed: string, before: unknown): AgentCapabilities {
  const required: AgentCapabilities = { ...(typeof before === "object" ? before : {}) };
  const [name = "", value, ...rest] = typed.split("=");
  const flag = capabilityFlags.find((known) => known === name);
  if (flag !== undefined && value === undefined) return { ...required, [flag]: true };
  if (name.startsWith("custom.") && name.length > "custom.".length && value === undefined) {
    return { ...required, custom: { ...required.custom, [name.slice("custom.".length)]: true } };
  }
  if (name === "max_context_tokens" && rest.length === 0 && /^[1-9]\d{0,14}$/.test(value ?? "")) {
    return { ...required, max_context_tokens: Number(value) };
  }
  throw new InvalidArgumentError(
    `Expected one of ${capabilityFlags.join(", ")}, max_context_tokens=<n>, custom.<name>.`,
  );
}
