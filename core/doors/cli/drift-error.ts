import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Makes the error for a plugin whose code and manifest do not agree on its id, name or version. */
export function driftError(drift: readonly string[]): BulkheadError {
  return new BulkheadError("invalid_manifest", `The plugin's code and its manifest differ:\n${drift.join("\n")}`, {
    hint: "Write the same in both.",
    details: { drift },
  });
}
