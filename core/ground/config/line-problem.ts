import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { nearest } from "./nearest.ts";

/** Words for the fault of a line that is read by its own grammar: a command template, or an argument pattern. */
interface LineProblem {
  says: string;
  hint?: string | undefined;
}

/**
 * Returns the words for such a fault; null for another error.
 * @param placeholders those that the line may hold, to find the one that was meant
 */
export function lineProblem(
  { details, hint }: BulkheadError,
  placeholders: readonly string[] = [],
): LineProblem | null {
  const { fault, position } = details ?? {};
  if (typeof fault !== "string") return null;
  const near = nearestPlaceholder(fault, placeholders);
  const help = near === null ? hint : `did you mean {${near}}?`;
  return { says: `${fault} at character ${String(position)}`, hint: help };
}

function nearestPlaceholder(fault: string, known: readonly string[]): string | null {
  const [, name] = /^unknown placeholder \{(.+)\}$/.exec(fault) ?? [];
  return name === undefined ? null : nearest(name, known);
}
