import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { PluginScript } from "./plugin.ts";

/** An error whose stack shows its author the author's own files; positions in the bundle help nobody. */
export function withAuthorPositions(error: ErrorData, script: PluginScript | null): ErrorData {
  const stack = error.details?.["stack"];
  if (script === null || typeof stack !== "string") return error;
  return { ...error, details: { ...error.details, stack: script.mapStack(stack) } };
}
