import type { Rule } from "../rule.ts";
import { nameOf, ordinary, type Take } from "../seen.ts";

/** An unknown count is null: 0 is a figure, and budgets count it. */
export const usageRule: Rule = {
  id: "usage",
  title: "Uncounted tokens are null, and totals of a session do not shrink.",
  check(seen) {
    return ordinary(seen).flatMap((take) => {
      const message = problemWith(take);
      return message === null ? [] : [{ message, session: nameOf(take) }];
    });
  },
};

function problemWith({ events }: Take): string | null {
  const spoke = events.some((event) => event.type === "output" && event.data.trim() !== "");
  let total = 0;
  for (const event of events) {
    if (event.type === "completed" && event.tokens_used === 0 && spoke) {
      return "It answered, and says that it used 0 tokens; what is not known is null.";
    }
    if (event.type !== "usage") continue;
    if (spoke && event.tokens_in === 0 && event.tokens_out === 0) {
      return "It answered, and reports 0 tokens in and out; what is not known is null.";
    }
    if (event.scope !== "session" || event.tokens_in === null || event.tokens_out === null) continue;
    const sum = event.tokens_in + event.tokens_out;
    if (sum < total) return `Its total of the session shrinks from ${total} to ${sum} tokens.`;
    total = sum;
  }
  return null;
}
