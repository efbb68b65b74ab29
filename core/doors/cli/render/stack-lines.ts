import type { ErrorData } from "../../../../plugin-sdk/errors.ts";
import { safeLine } from "./agent-text.ts";

/** Lists the places in the author's own files where an error was thrown; empty when it was not thrown there. */
export function stackLines(error: ErrorData | undefined): string[] {
  const stack = error?.details?.["stack"];
  if (typeof stack !== "string") return [];
  return stack.split("\n").map((line) => line.trim()).filter((line) => line.startsWith("at ")).slice(0, 8).map(
    safeLine,
  );
}
