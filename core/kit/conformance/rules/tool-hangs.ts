import { mishap } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";

/** The output of a tool before it hung is not its answer. */
export const toolHangsRule: Rule = {
  id: "tool-hangs",
  title: "A session whose tool hangs does not complete.",
  check({ modes }) {
    const take = modes.hangs;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ??
      (take.result?.outcome === "completed" ? "The tool never came to an end, and the session completed." : null);
    return message === null ? [] : [{ message }];
  },
};
