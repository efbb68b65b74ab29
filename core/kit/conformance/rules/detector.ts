import { type Rule, skipped } from "../rule.ts";

/** Checks the result of getRateLimitDetector(). */
export const detectorRule: Rule = {
  id: "detector",
  title: "The detector of rate limits answers with true or false, and with seconds or null.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const thrown = members.calls["getRateLimitDetector"]?.thrown;
    if (thrown) return [{ message: `getRateLimitDetector() threw ${thrown.name}: ${thrown.message}` }];
    return Object.entries(members.detected).flatMap(([text, { detected, wait, thrown: why }]) => {
      if (why !== undefined) return [{ message: `The detector threw on "${text}": ${why}` }];
      const right = typeof detected === "boolean" && (wait === null || (typeof wait === "number" && wait >= 0));
      return right ? [] : [{ message: `For "${text}" it gave ${JSON.stringify({ detected, wait })}.` }];
    });
  },
};
