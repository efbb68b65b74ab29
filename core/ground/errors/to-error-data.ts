import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";

/** Any thrown thing as error data; what is not ours becomes `internal`, without its stack. */
export function toErrorData(thrown: unknown): ErrorData {
  return toBulkheadError(thrown).toJSON();
}

/** Any thrown thing as our error; what is not ours becomes `internal` with the thing as its cause. */
export function toBulkheadError(thrown: unknown): BulkheadError {
  if (thrown instanceof BulkheadError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BulkheadError("internal", `Unexpected failure: ${message}`, { cause: thrown });
}
