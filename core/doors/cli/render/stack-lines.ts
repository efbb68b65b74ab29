import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { safeLine } from "./agent-text.ts";

/**
 * Lists the places in the author's own files where an error was thrown; empty when it was not thrown there. With
 * `faultsOnly` also empty for an error that the author throws on purpose, such as for a missing file of the operator.
 */
export function stackLines(
  error: ErrorData | undefined,
  { faultsOnly = false }: { faultsOnly?: boolean } = {},
): string[] {
  const stack = error?.details?.["stack"];
  if (typeof stack !== "string" || (faultsOnly && stack.startsWith("BulkheadError:"))) return [];
  return stack.split("\n").map((line) => line.trim()).filter((line) => line.startsWith("at ")).slice(0, 8).map(
    safeLine,
  );
}
