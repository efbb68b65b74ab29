import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { PluginScript } from "./plugin.ts";

/** Maps an error's stack to the author's own files: positions in the bundle do not help the author. */
export function withAuthorPositions(error: ErrorData, script: PluginScript | null): ErrorData {
  const stack = error.details?.["stack"];
  if (script === null || typeof stack !== "string") return error;
  return { ...error, details: { ...error.details, stack: script.mapStack(stack) } };
}
