import { mishap } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";

/** Tools are killed while they print. */
export const toolHalfLineRule: Rule = {
  id: "tool-half-line",
  title: "A tool that stops in the middle of a line does not break the adapter.",
  check({ modes }) {
    const take = modes.half;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ?? null;
    return message === null ? [] : [{ message }];
  },
};
