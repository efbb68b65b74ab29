import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";

/** Options of {@link Host.runSession}. */
export interface RunSessionOptions {
  /**
   * Id of an enabled adapter, a chain of them, or `auto`; absent: what the host manifest says under `routing.agent`.
   * One that is named alone is used without being asked first whether its agent is there.
   */
  adapter?: string | readonly string[] | undefined;
  /**
   * What the agent must be able to do; where not one adapter is named, beside what the host manifest requires under
   * `routing.require`.
   */
  require?: AgentCapabilities | undefined;
  /** Interrupts the session. */
  signal?: AbortSignal | undefined;
  /** `git`, the default, compares the working directory before and after; `none` saves that time. */
  artifacts?: "git" | "none" | undefined;
  /** Id of the session, if it was promised before; default: a random one. */
  sessionId?: string | undefined;
  /** Name of the caller: where sessions wait, clients take turns. Default: one for all. */
  client?: string | undefined;
}
