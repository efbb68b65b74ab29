import type { Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** The last word is the last. */
export const afterEndRule: Rule = {
  id: "after-end",
  title: "Nothing follows the last word.",
  check(seen) {
    return ordinary(seen).flatMap((take) => {
      const end = take.events.findIndex(({ type }) => type === "completed" || type === "error");
      const next = end === -1 ? undefined : take.events[end + 1];
      if (next === undefined) return [];
      return [{ message: `After its last word the adapter yields ${next.type}.`, session: nameOf(take) }];
    });
  },
};
