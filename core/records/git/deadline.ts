import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Bounds of one question to git. */
export interface GitDeadline {
  signal?: AbortSignal | undefined;
  /** For all git calls of the question together. Default 60,000. */
  timeoutMs?: number | undefined;
  /** Message of the error at the deadline. */
  late?: string;
}

/**
 * Runs something under a signal that aborts with the caller's, or with a `timeout` error at the deadline.
 * @throws what `run` throws
 */
export async function withDeadline<T>(options: GitDeadline, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, timeoutMs = 60_000, late = `git took longer than ${timeoutMs} ms.` } = options;
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort(new BulkheadError("timeout", late));
  }, timeoutMs);
  try {
    return await run(signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** Why git could not tell, in one line: `git_missing`, `workdir_missing`, or a sentence. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof BulkheadError && (thrown.code === "git_missing" || thrown.code === "workdir_missing")) {
    return thrown.code;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}
