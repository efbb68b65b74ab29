import type { UsageReport } from "./result.ts";

/** Sessions whose usage is added up. */
export interface UsageQuery {
  /** How many days, today included; default 30. */
  days?: number | undefined;
  /** Only sessions of this adapter. */
  adapter?: string | undefined;
  /** IANA name of the time zone in which a day begins, such as `Europe/Vienna`; default UTC. */
  time_zone?: string | undefined;
  /** Name of a label: sessions with other values of it stand in other rows. */
  label?: string | undefined;
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
  /** Value of the label that the question named, null for sessions without it; absent where it named none. */
  label?: string | null;
}

/** Names the kind of a cost, whatever is known of the tokens: an agent may count tokens and know no price. */
export function costKind(
  { cost, currency, basis }: Pick<UsageRow, "cost" | "currency" | "basis">,
): UsageRow["basis"] | "not_billed" {
  if (cost === null) return "unknown";
  return cost === 0 && currency === null ? "not_billed" : basis;
}
