import { completedWithout, mishap } from "../endings.ts";
import { longMarker } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";

/** Tools print lines of such length. What a server sends as a comment may be passed over. */
export const toolLongLineRule: Rule = {
  id: "tool-long-line",
  title: "A line of 300,000 characters comes through whole, or the session fails.",
  check({ modes, script }) {
    const take = modes.long_line;
    if (take === undefined) return skipped("No tool is scripted.");
    const printed = script.programs.length > 0;
    const message = mishap(take) ??
      (printed && completedWithout(take, longMarker)
        ? "The end of a long line was lost, and the session completed."
        : null);
    return message === null ? [] : [{ message }];
  },
};
