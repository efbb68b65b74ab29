import type { EffectiveSettings } from "../../../plugin-sdk/result.ts";
import { idleMs } from "./attempt.ts";
import { effectiveBudget } from "./budgets.ts";
import { accepts } from "./enforceable.ts";
import type { Candidate } from "./session-options.ts";

/** Returns the settings that a session on this candidate really runs with. */
export function effectiveSettings(
  candidate: Candidate,
  { totalMs, workspace }: { totalMs: number; workspace: EffectiveSettings["workspace"] },
): EffectiveSettings {
  const { request, plugin, accessMode, approval, unenforced, effective } = candidate;
  const held = <T>(field: string, value: T): T | null => (unenforced.includes(field) ? null : value);
  return {
    permissions: effective,
    model: accepts(plugin.manifest, "model") ? request.model ?? null : null,
    timeout_ms: totalMs,
    idle_timeout_ms: idleMs(candidate),
    allowed_tools: held("allowed_tools", request.allowed_tools ?? null),
    max_turns: held("max_turns", request.max_turns ?? null),
    approval: approval.approval,
    budget: heldBudget(candidate),
    workspace,
    access_mode: accessMode?.type ?? null,
    unenforced,
  };
}

function heldBudget({ request, unenforced }: Candidate): EffectiveSettings["budget"] {
  const budget = Object.entries(effectiveBudget(request) ?? {}).filter(([key]) =>
    !unenforced.includes(`budget.${key}`)
  );
  return budget.length === 0 ? null : Object.fromEntries(budget);
}
