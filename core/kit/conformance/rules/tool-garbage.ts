import { completedWithout, mishap } from "../endings.ts";
import { garbageMarker } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";

/** A tool of another version prints unexpected output. */
export const toolGarbageRule: Rule = {
  id: "tool-garbage",
  title: "What the adapter does not understand is kept, or the session fails.",
  check({ modes }) {
    const take = modes.garbage;
    if (take === undefined) return skipped("No tool is scripted.");
    const message = mishap(take) ??
      (completedWithout(take, garbageMarker)
        ? "The tool printed nonsense, and the session completed without a trace of it."
        : null);
    return message === null ? [] : [{ message }];
  },
};
