import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Role that the prompt gives the agent. */
export type Role = NonNullable<SessionRequest["role"]>;

/** Instructions for one role: full for the first iterations, condensed afterwards. */
export interface RoleInstructions {
  full: string;
  condensed: string;
}

/** Prompt enhancement, the same for all adapters. */
export interface PromptSettings {
  /**
   * `asked`: requests that have a role or an iteration, or ask for it; `always`: all except those that opt out;
   * `never`.
   */
  enhance: "asked" | "always" | "never";
  /** Line that an agent prints when the whole task is done. */
  signal: string;
  /** The agent's notes between iterations, relative to the working directory. */
  scratchpad: string;
  /** The last iteration with the full instructions. */
  full_iterations: number;
  /** Overrides the host's own instructions. */
  instructions: Partial<Record<Role, Partial<RoleInstructions>>>;
}

/** Defaults for every setting. */
export const defaultPromptSettings: PromptSettings = {
  enhance: "asked",
  signal: "LOOP_COMPLETE",
  scratchpad: ".agent/scratchpad.md",
  full_iterations: 3,
  instructions: {},
};

/** True when this request's prompt is enhanced. */
export function isEnhanced(
  { enhance, role, iteration, max_iterations }: SessionRequest,
  settings: PromptSettings,
): boolean {
  if (settings.enhance === "never") return false;
  if (enhance !== undefined) return enhance;
  return settings.enhance === "always" || role !== undefined || iteration !== undefined || max_iterations !== undefined;
}
