import { mishap } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";

/** A tool that was killed has no answer. */
export const toolDiesRule: Rule = {
  id: "tool-dies",
  title: "A session whose tool is killed does not complete.",
  check({ modes }) {
    const take = modes.dies;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ??
      (take.result?.outcome === "completed" ? "A signal ended the tool, and the session completed." : null);
    return message === null ? [] : [{ message }];
  },
};
