import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";

/** Options of {@link Host.runSession}. */
export interface RunSessionOptions {
  /**
   * Id of an enabled adapter, a chain of them, or `auto`; absent: what the host manifest says under `routing.agent`.
   * One that is named alone is used without being asked first whether its agent is there.
   */
  adapter?: string | readonly string[] | undefined;
  /**
   * Capabilities that the agent must have. Unless one adapter is named, those under `routing.require` of the host manifest
   * are required as well.
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
