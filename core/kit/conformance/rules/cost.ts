import type { Rule } from "../rule.ts";
import { nameOf, ordinary, type Seen } from "../seen.ts";

/** A cost of 0 says that the session is free, and one without its currency says nothing. */
export const costRule: Rule = {
  id: "cost",
  title: "A cost has its currency, and what is paid for is never free.",
  check(seen) {
    const paid = isPaid(seen);
    return ordinary(seen).flatMap((take) =>
      take.events.flatMap((event) => {
        if (event.type !== "usage" && event.type !== "completed") return [];
        const session = nameOf(take);
        if (paid && event.cost === 0) {
          return [{ message: "Every access mode is paid for by the token, and it reports a cost of 0.", session }];
        }
        if (event.type === "usage" && event.cost !== null && event.cost > 0 && event.currency === undefined) {
          return [{ message: `It reports a cost of ${event.cost} in no currency.`, session }];
        }
        return [];
      })
    );
  },
};

function isPaid({ manifest }: Seen): boolean {
  const modes = (manifest.access_modes ?? []).filter(({ enabled }) => enabled);
  return modes.length > 0 &&
    modes.every((mode) =>
      mode.type === "api" && mode.pricing.input_per_1k_tokens !== 0 && mode.pricing.output_per_1k_tokens !== 0
    );
}
