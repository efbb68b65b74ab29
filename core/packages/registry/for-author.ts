import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { PluginScript } from "../manifest/plugin.ts";
import { thrownHint } from "./thrown-hint.ts";

/**
 * Returns an adapter's error as its author can use it: the stack with positions in the author's own files, and a hint
 * where something was used that adapters do not have.
 */
export function forAuthor(error: ErrorData, script: PluginScript | null): ErrorData {
  const stack = error.details?.["stack"];
  if (script === null || typeof stack !== "string") return error;
  const hint = error.hint ?? thrownHint(error.message, textBefore(stack, script.text));
  return {
    ...error,
    ...(hint === null ? {} : { hint }),
    details: { ...error.details, stack: script.mapStack(stack) },
  };
}

/** The line of the script where an error was thrown, up to the place. */
function textBefore(stack: string, script: string): string {
  const [, line, column] = /plugin:[\w-]+:(\d{1,9}):(\d{1,9})/.exec(stack) ?? [];
  if (line === undefined) return "";
  // As engines count lines in scripts.
  const lines = script.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines[Number(line) - 1]?.slice(0, Number(column) - 1) ?? "";
}
