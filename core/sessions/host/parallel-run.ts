import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Comparison } from "./compare-results.ts";
import type { RunSessionOptions } from "./run-session.ts";
import type { SessionHandle } from "./session-host.ts";
import type { PassedOverAdapter } from "./start-session.ts";

/** Options of {@link runAll}. */
export interface RunAllOptions extends Omit<RunSessionOptions, "adapter"> {
  /** Ids of the adapters; absent: all that are available and can do what is required. */
  adapters?: readonly string[];
}

/** Sessions of one request that run at once. */
export interface ParallelRun extends AsyncIterable<Envelope> {
  /** In the order of the adapters. */
  readonly sessions: readonly SessionHandle[];
  /** Adapters that could not take the request, and why. */
  readonly passed_over: readonly PassedOverAdapter[];
  /** What came of all of them, once the last has ended. */
  readonly comparison: Promise<Comparison>;
}
