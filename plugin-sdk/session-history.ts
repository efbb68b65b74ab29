import type { ErrorCode } from "./errors.ts";
import type { Permissions } from "./permissions.ts";

/** Permissions of an adapter when it began to run a session: those that were requested, granted and not denied. */
export interface GrantsInForce {
  /** The first attempt for which they held. */
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
  /** Error code of its failure; null for a running attempt, and for the last one, whose end is the session's. */
  error_code: ErrorCode | null;
}

/** One program that was started for a session. */
export interface RecordedChild {
  process_id: number;
  attempt: number;
  pid: number;
  /** Distinguishes it from any other process with this pid; null when the system cannot tell. */
  identity: string | null;
  /** Its real path. */
  program: string;
  started_at: string;
  /** Null while it runs. */
  ended_at: string | null;
  exit_code: number | null;
  signal: string | null;
}

/** Facts about a session, in addition to its summary, that need no reading of its events; each list is in order. */
export interface SessionHistory {
  grants: GrantsInForce[];
  attempts: RecordedAttempt[];
  children: RecordedChild[];
}
