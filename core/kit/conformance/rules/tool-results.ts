import type { Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** A result that the host must add is one that the adapter forgot. */
export const toolResultsRule: Rule = {
  id: "tool-results",
  title: "Every tool call gets its result.",
  check(seen) {
    return ordinary(seen).flatMap((take) =>
      take.envelopes.flatMap(({ event, synthetic }) =>
        synthetic && event.type === "tool_result"
          ? [{ message: `The tool call "${event.call_id}" got no result.`, session: nameOf(take) }]
          : []
      )
    );
  },
};
