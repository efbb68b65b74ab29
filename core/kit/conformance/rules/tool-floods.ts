import { mishap } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";

/** A megabyte in a thousand lines is nothing odd. */
export const toolFloodsRule: Rule = {
  id: "tool-floods",
  title: "A flood of output does not break the adapter.",
  check({ modes }) {
    const take = modes.floods;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ?? null;
    return message === null ? [] : [{ message }];
  },
};
