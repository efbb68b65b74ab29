import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Comparison } from "./compare-results.ts";
import type { RunSessionOptions } from "./run-session.ts";
import type { SessionHandle } from "./session-host.ts";
import type { PassedOverAdapter } from "./start-session.ts";

/** Options of {@link runAll}. */
export interface RunAllOptions extends Omit<RunSessionOptions, "adapter"> {
  /** Ids of the adapters; absent: all that are available and have the required capabilities. */
  adapters?: readonly string[];
}

/** Sessions of one request that run at the same time. */
export interface ParallelRun extends AsyncIterable<Envelope> {
  /** In the order of the adapters. */
  readonly sessions: readonly SessionHandle[];
  /** Adapters that could not take the request, and why. */
  readonly passed_over: readonly PassedOverAdapter[];
  /** Comparison of all sessions, once the last has ended. */
  readonly comparison: Promise<Comparison>;
}
