import { ofSessions, type Rule } from "../rule.ts";
import type { Seen, Take } from "../seen.ts";

/** Rules of what a session says that it used. */
export const usageRules: readonly Rule[] = [
  // An unknown count is null: 0 is a figure, and budgets count it.
  {
    id: "usage",
    title: "Uncounted tokens are null, and totals of a session do not shrink.",
    check: ofSessions((take) => problemsWith(take)),
  },
  // A cost of 0 says that the session is free, and one without its currency says nothing.
  {
    id: "cost",
    title: "A cost has its currency, and what is paid for is never free.",
    check: ofSessions(({ events }, seen) =>
      events.flatMap((event) => {
        if (event.type !== "usage" && event.type !== "completed") return [];
        if (event.cost === 0 && isPaid(seen)) {
          return ["Every access mode is paid for by the token, and it reports a cost of 0."];
        }
        if (event.type === "usage" && event.cost !== null && event.cost > 0 && event.currency === undefined) {
          return [`It reports a cost of ${event.cost} in no currency: add one, such as currency: USD.`];
        }
        return [];
      })
    ),
  },
];

function problemsWith({ events }: Take): string[] {
  const spoke = events.some((event) => event.type === "output" && event.data.trim() !== "");
  let total = 0;
  for (const event of events) {
    if (event.type === "completed" && event.tokens_used === 0 && spoke) {
      return ["It answered, and says that it used 0 tokens; what is not known is null."];
    }
    if (event.type !== "usage") continue;
    if (spoke && event.tokens_in === 0 && event.tokens_out === 0) {
      return ["It answered, and reports 0 tokens in and out; what is not known is null."];
    }
    if (event.scope !== "session" || event.tokens_in === null || event.tokens_out === null) continue;
    const sum = event.tokens_in + event.tokens_out;
    if (sum < total) return [`Its total of the session shrinks from ${total} to ${sum} tokens.`];
    total = sum;
  }
  return [];
}

function isPaid({ manifest }: Seen): boolean {
  const modes = (manifest.access_modes ?? []).filter(({ enabled }) => enabled);
  return modes.length > 0 &&
    modes.every((mode) =>
      mode.type === "api" && mode.pricing.input_per_1k_tokens !== 0 && mode.pricing.output_per_1k_tokens !== 0
    );
}
