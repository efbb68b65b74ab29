import type { ErrorCode } from "./errors.ts";
import type { Permissions } from "./permissions.ts";

/** What an adapter was allowed to do when it began to run a session: what was asked for, granted and not denied. */
export interface GrantsInForce {
  /** The attempt from which on they held. */
  attempt: number;
  adapter_id: string;
  permissions: Permissions;
}

/** One attempt at a session. */
export interface RecordedAttempt {
  attempt: number;
  adapter_id: string;
  /** RFC 3339, UTC. */
  started_at: string;
  /** Null while it runs. */
  ended_at: string | null;
  /** What it failed with; null for one that runs, and for the last one, whose end is the session's. */
  error_code: ErrorCode | null;
}

/** One program that was started for a session. */
export interface RecordedChild {
  process_id: number;
  attempt: number;
  pid: number;
  /** Tells it apart from any other process of this pid; null where the system does not. */
  identity: string | null;
  /** Its real path. */
  program: string;
  started_at: string;
  /** Null while it runs. */
  ended_at: string | null;
  exit_code: number | null;
  signal: string | null;
}

/** What is known of a session beside its summary without reading its events, each list in order. */
export interface SessionHistory {
  grants: GrantsInForce[];
  attempts: RecordedAttempt[];
  children: RecordedChild[];
}
