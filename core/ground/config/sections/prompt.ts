import * as z from "zod";
import type { PromptSettings } from "../../prompt/prompt-settings.ts";
import { line } from "./texts.ts";

/** `prompt`. */
export function promptSection(): z.ZodType<Partial<PromptSettings>> {
  const text = z.string().min(1).max(65_536);
  const roleInstructions = z.strictObject({ full: text.exactOptional(), condensed: text.exactOptional() });
  return z.strictObject({
    enhance: z.enum(["asked", "always", "never"]).exactOptional(),
    signal: z.string().min(1).max(256).refine((signal) => signal.trim() === signal && !/[\r\n]/.test(signal), {
      params: { expected: "one line without blanks around it" },
    }).exactOptional(),
    scratchpad: line().exactOptional(),
    full_iterations: z.int().min(0).exactOptional(),
    instructions: z.strictObject({
      orchestrator: roleInstructions.exactOptional(),
      implementor: roleInstructions.exactOptional(),
    }).exactOptional(),
  });
}
