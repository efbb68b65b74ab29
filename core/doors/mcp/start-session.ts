import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { RunSessionOptions, SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";

/**
 * Starts a session unless the call is cancelled first. After the start the signal no longer affects the session: its
 * follower interrupts it, and a session without a follower outlives the call.
 */
export async function startSession(
  sessions: SessionHost,
  request: SessionRequest,
  { signal, ...options }: RunSessionOptions & { signal: AbortSignal },
): Promise<SessionHandle> {
  const starting = new AbortController();
  const abort = () => starting.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await sessions.start(request, { ...options, signal: starting.signal });
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
