import { type Rule, skipped } from "../rule.ts";

/** The host always calls them, even when no session runs. */
export const lifecycleRule: Rule = {
  id: "lifecycle",
  title: "interrupt() and shutdown() do not throw, also where nothing runs.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return ["interrupt", "shutdown"].flatMap((name) => {
      const thrown = members.calls[name]?.thrown;
      return thrown ? [{ message: `${name}() threw ${thrown.name}: ${thrown.message}` }] : [];
    });
  },
};
