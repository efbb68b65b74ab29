import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";

/** Options of {@link Host.runSession}. */
export interface RunSessionOptions {
  /**
   * Id of an enabled adapter, a chain of them, or `auto`; absent: what the host manifest says under `routing.agent`.
   * One that is named alone is used without being asked first whether its agent is there.
   */
  adapter?: string | readonly string[];
  /**
   * What the agent must be able to do; where not one adapter is named, beside what the host manifest requires under
   * `routing.require`.
   */
  require?: AgentCapabilities;
  /** Interrupts the session. */
  signal?: AbortSignal;
  /** `git`, the default, compares the working directory before and after; `none` saves that time. */
  artifacts?: "git" | "none";
  /** Who asks, in a name of the caller's own: where sessions wait, clients take turns. Default: one for all. */
  client?: string;
}

/** A running session: its own events, in order, and then its result. Reading is optional. */
export interface Session extends AsyncIterable<Envelope> {
  readonly id: string;
  /** Never rejects for what happens to the adapter: that is in the result. */
  readonly result: Promise<SessionResult>;
  /** Stops the session gracefully; resolves when it has ended. */
  interrupt(): Promise<SessionResult>;
  /** Answers a permission request or question; false when it is unknown, answered already, or does not offer the choice. */
  answer(requestId: string, choice: string): boolean;
}
