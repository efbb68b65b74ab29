/** A budget that sessions share: an entry of `budgets:` of the host manifest. One of `cost` and `tokens` is there. */
export interface BudgetSettings {
  /** It covers the sessions with all of these labels; absent: all sessions. */
  labels?: Record<string, string>;
  /** The time for which it is, by the host's clock; absent: all sessions that the journal keeps. */
  per?: "day" | "month";
  /** Most that they cost together, in the currency of the access modes' prices. */
  cost?: number;
  tokens?: number;
}

/** Whether a budget covers a session with these labels. */
export function covers({ labels = {} }: Pick<BudgetSettings, "labels">, session: Record<string, string> = {}): boolean {
  return Object.entries(labels).every(([name, value]) => session[name] === value);
}
