import type { FailureClass } from "./retry-policy.ts";
import type { Candidate } from "./session-options.ts";

/** The candidate that is tried next. */
interface NextCandidate {
  index: number;
  /** The same adapter through another access mode, or another adapter. */
  through: "access_mode" | "adapter";
}

/**
 * Returns the candidate after this one; null when there is none. Another access mode of the same adapter helps only
 * when the one before was limited.
 */
export function nextCandidate(
  candidates: readonly Pick<Candidate, "plugin">[],
  index: number,
  failure: FailureClass,
): NextCandidate | null {
  const { id } = candidates[index]!.plugin;
  const after = candidates[index + 1];
  if (after?.plugin.id === id && failure === "rate_limit") return { index: index + 1, through: "access_mode" };
  const other = candidates.findIndex(({ plugin }, at) => at > index && plugin.id !== id);
  return other < 0 ? null : { index: other, through: "adapter" };
}
