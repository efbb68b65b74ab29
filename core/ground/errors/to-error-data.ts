import { BulkheadError, type ErrorData, errorDataOf } from "../../../plugin-sdk/errors.ts";
import { writeFault } from "./write-fault.ts";

/** Any thrown thing as error data; what is not ours becomes `internal`, without its stack. */
export function toErrorData(thrown: unknown): ErrorData {
  return toBulkheadError(thrown).toJSON();
}

/** Any thrown thing as our error; what is not ours becomes `internal` with the thing as its cause. */
export function toBulkheadError(thrown: unknown): BulkheadError {
  if (thrown instanceof BulkheadError) return thrown;
  const refused = refusedBySystem(thrown);
  if (refused !== null) return refused;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BulkheadError("internal", `Unexpected failure: ${message}`, { cause: thrown });
}

/** A system's refusal as our error, with what helps; null for anything else. */
export function refusedBySystem(thrown: unknown): BulkheadError | null {
  if (!(thrown instanceof Error)) return null;
  const path: unknown = Reflect.get(thrown, "path");
  const fault = writeFault(thrown, typeof path === "string" ? `"${path}"` : "its folder");
  if (fault === null) return null;
  const message = `Cannot use ${typeof path === "string" ? `"${path}"` : "a file"}: ${fault.state}.`;
  return new BulkheadError("io_error", message, {
    hint: fault.hint,
    details: { cause_code: fault.code },
    cause: thrown,
  });
}

/**
 * Takes the error of a look-up: null stands for what is not there.
 * @throws any other error
 */
export function nullIfNotFound(error: unknown): null {
  if (errorDataOf(error)?.code === "not_found") return null;
  throw error;
}
