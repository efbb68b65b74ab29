import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** Who the agent is told to be. */
export type Role = NonNullable<SessionRequest["role"]>;

/** The instructions for one role: whole for the first iterations, and condensed after them. */
export interface RoleInstructions {
  full: string;
  condensed: string;
}

/** How prompts are enhanced, for all adapters alike. */
export interface PromptSettings {
  /** `asked`: requests that have a role or an iteration, or say so; `always`: all that do not say no; `never`. */
  enhance: "asked" | "always" | "never";
  /** What an agent prints, alone on a line, when the whole task is done. */
  signal: string;
  /** The agent's notes between iterations, relative to the working directory. */
  scratchpad: string;
  /** The last iteration with the full instructions. */
  full_iterations: number;
  /** In place of the host's own instructions. */
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

/** Whether this request's prompt is enhanced. */
export function isEnhanced(
  { enhance, role, iteration, max_iterations }: SessionRequest,
  settings: PromptSettings,
): boolean {
  if (settings.enhance === "never") return false;
  if (enhance !== undefined) return enhance;
  return settings.enhance === "always" || role !== undefined || iteration !== undefined || max_iterations !== undefined;
}
