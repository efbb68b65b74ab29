import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";

/** A failed request to a host or to a program that runs a session, or an answer that cannot be read. */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
  /** The error's code; an error that the host or program reported keeps its own. */
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown> | undefined;
  /** How long to wait before a retry, where the host says that a retry may succeed. */
  readonly retryAfterMs: number | undefined;

  constructor(data: ErrorData, { cause, retryAfterMs }: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(data.message, cause === undefined ? undefined : { cause });
    this.code = data.code;
    this.hint = data.hint;
    this.details = data.details;
    this.retryAfterMs = retryAfterMs;
  }
}
