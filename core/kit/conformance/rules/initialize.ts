import { type Rule, skipped } from "../rule.ts";

/** It is called before anything else, with a configuration that holds only what must be there. */
export const initializeRule: Rule = {
  id: "initialize",
  title: "initialize() takes a configuration with nothing but defaults.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const thrown = members.calls["initialize"]?.thrown;
    return thrown ? [{ message: `initialize() threw ${thrown.name}: ${thrown.message}` }] : [];
  },
};
