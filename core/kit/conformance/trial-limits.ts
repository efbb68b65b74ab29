import type { Limits } from "../../ground/config/limits.ts";

/** Limits of every plugin under trial: small, so that a bad end comes soon. */
export const trialLimits: Partial<Limits> & Pick<Limits, "teardown_timeout_ms"> = {
  heap_mb: 96,
  timeout_ms: 20_000,
  teardown_timeout_ms: 4000,
  agent_grace_ms: 500,
  warden_grace_ms: 500,
  load_timeout_ms: 20_000,
  quarantine_crashes: 1000,
  restart_backoff_ms: 1,
  restart_backoff_max_ms: 1,
  workers: 1,
};

/** How long a tool that hangs is waited for, in milliseconds. */
export const hangMs = 2500;
