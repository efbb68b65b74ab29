import { BulkheadError, type ErrorCode, type ErrorData, isErrorCode } from "../../../plugin-sdk/errors.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import { stackOf } from "./lockdown.ts";

const maxMessage = 4096;
const maxStack = 8192;
/** Levels of an error's data; the host would refuse much more. */
const maxDepth = 32;

/** Converts a value that adapter code threw, hostile or not, to data: read once, in this thread. */
export function describeThrown(thrown: unknown, code: ErrorCode): ErrorData {
  try {
    return describe(thrown, code);
  } catch {
    return { code, message: "The adapter threw something that cannot be read." };
  }
}

function describe(thrown: unknown, fallback: ErrorCode): ErrorData {
  if (!(thrown instanceof Error)) return { code: fallback, message: `The adapter threw ${shown(thrown)}.` };
  const own = thrown as Error & { code?: unknown; hint?: unknown; details?: unknown };
  const typed = own.name.endsWith("Error") && isErrorCode(own.code) && "hint" in own;
  const stack = ownFrames(stackOf(thrown));
  const details: Record<string, unknown> = { ...(typed ? jsonRecord(own.details) : {}) };
  if (stack !== "") details["stack"] = `${own.name}: ${own.message}\n${stack}`.slice(0, maxStack);
  return {
    code: typed ? own.code as ErrorCode : fallback,
    message: String(own.message).slice(0, maxMessage) || own.name,
    ...omitUndefined({ hint: typed && typeof own.hint === "string" ? own.hint.slice(0, maxMessage) : undefined }),
    ...omitEmpty({ details }),
  };
}

/** The plugin's own frames: frames of the guest would reveal paths of the host and help no reader. */
function ownFrames(stack: string): string {
  return stack.split("\n").filter((line) => line.includes("plugin:") && !line.includes("file:")).join("\n");
}

function shown(thrown: unknown): string {
  if (typeof thrown === "string") return JSON.stringify(thrown.slice(0, maxMessage));
  if (thrown === null || typeof thrown !== "object") {
    return typeof thrown === "symbol" ? "a symbol" : String(thrown).slice(0, 200);
  }
  return "an object that is not an Error";
}

function jsonRecord(value: unknown): Record<string, unknown> {
  const text = JSON.stringify(value ?? {});
  const parsed: unknown = text.length > 65_536 ? {} : JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed) || !isShallow(parsed, maxDepth)) return {};
  return { ...parsed };
}

/** Converts an error for adapter code: the code, the message and nothing of the host. */
export function errorForAdapter(data: ErrorData): BulkheadError {
  const error = new BulkheadError(data.code, data.message, { hint: data.hint, details: data.details });
  return error;
}
