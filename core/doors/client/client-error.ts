import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";

/** A request to a host failed, or a program that runs a session did; or its answer cannot be read. */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
  /** The error's code; for what the host or program reported, its own. */
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown> | undefined;
  /** When the host says that the same request may succeed later: after so long. */
  readonly retryAfterMs: number | undefined;

  constructor(data: ErrorData, { cause, retryAfterMs }: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(data.message, cause === undefined ? undefined : { cause });
    this.code = data.code;
    this.hint = data.hint;
    this.details = data.details;
    this.retryAfterMs = retryAfterMs;
  }
}
