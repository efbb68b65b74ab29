import type { UsageReport } from "./result.ts";

/** Sessions whose usage is added up. */
export interface UsageQuery {
  /** How many days, today included; default 30. */
  days?: number | undefined;
  /** Only sessions of this adapter. */
  adapter?: string | undefined;
  /** IANA name of the time zone in which a day begins, such as `Europe/Vienna`; default UTC. */
  time_zone?: string | undefined;
}

/**
 * Usage of the sessions that began on one day, of one agent and model, whose figures are of one kind: what is unknown
 * stands in rows of its own, and is null there.
 */
export interface UsageRow
  extends Pick<UsageReport, "model" | "basis" | "cost" | "currency" | "tokens_in" | "tokens_out" | "tokens_cached"> {
  /** `2026-01-31`, in the time zone of the question. */
  day: string;
  adapter_id: string;
  sessions: number;
  /** Of these sessions, those whose agent called its model more often than it counted: their tokens are at least these. */
  partial: number;
  /** Requests to the model that the host counted, since it holds the key; null where it does not. */
  requests: number | null;
}
