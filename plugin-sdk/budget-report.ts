/** One of the operator's budgets, with what its sessions have used so far. */
export interface BudgetReport {
  name: string;
  /** It covers the sessions with all of these labels; empty: all sessions. */
  labels: Record<string, string>;
  per: "day" | "month" | null;
  /** RFC 3339: when its day or month began, and when the next one does; null for a budget without one. */
  since: string | null;
  until: string | null;
  /** The most; null where it has none. */
  cost: number | null;
  tokens: number | null;
  spent_cost: number;
  spent_tokens: number;
  /** Currency of `spent_cost`; null where nothing was spent. */
  currency: string | null;
  /** Calls and sessions whose cost is not known: it was at least that much. */
  unpriced: number;
  /** Whether it can be held: in a cluster no budget can. */
  is_held: boolean;
}
