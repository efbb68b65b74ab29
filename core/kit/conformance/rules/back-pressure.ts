import { type Rule, skipped } from "../rule.ts";

/** Several times the characters that one piece of each stream may hold. */
const most = 400_000;

/** An adapter that reads on while the host does not pull holds it all in memory. */
export const backPressureRule: Rule = {
  id: "back-pressure",
  title: "The adapter stops reading while its events are not taken.",
  check({ read_unasked: read }) {
    if (read === null) return skipped("It reads no program and no server.");
    return read <= most ? [] : [{ message: `It read ${read} characters while no event was taken.` }];
  },
};
