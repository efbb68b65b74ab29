import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { shortestSecret } from "../../ground/log/redact.ts";

/** UTF-16 units of the longest secret: a certificate with its key. */
export const longestSecret = 16_384;

/**
 * The value of a secret, as it may be used.
 * @throws {BulkheadError} `invalid_config` for one that could not be kept out of texts, or given to a program
 */
export function checkSecretValue(name: string, value: string): string {
  const fault = value.length < shortestSecret
    ? `has fewer than ${shortestSecret} characters, so it cannot be told from ordinary words and kept out of the log`
    : value.length > longestSecret
    ? `has more than ${longestSecret} characters`
    : value.includes("\0")
    ? "holds a NUL character"
    : /\p{Cs}/u.test(value)
    ? "is not valid Unicode"
    : null;
  if (fault === null) return value;
  throw new BulkheadError("invalid_config", `Cannot use secret "${name}": its value ${fault}.`, {
    details: { secret: name },
  });
}
