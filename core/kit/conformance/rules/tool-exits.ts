import { mishap } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";

/** Success of a tool cannot be assumed. */
export const toolExitsRule: Rule = {
  id: "tool-exits",
  title: "A tool that fails fails the session.",
  check({ modes }) {
    const take = modes.exits;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ??
      (take.result?.outcome === "completed" ? "The tool said that it failed, and the session completed." : null);
    return message === null ? [] : [{ message }];
  },
};
