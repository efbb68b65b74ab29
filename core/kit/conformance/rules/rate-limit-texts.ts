import { knownRateLimits, otherFailures } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";

/** A limit that is not seen ends a session as fatal; a failure that is taken for one makes it wait for nothing. */
export const rateLimitTextsRule: Rule = {
  id: "rate-limit-texts",
  title: "The detector finds common rate limits and those of conformance.yaml, with their wait, and nothing else.",
  check({ members, script }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const limits = [...knownRateLimits, ...script.rate_limits].flatMap(({ text, wait_s }) => {
      const { detected, wait } = members.detected[text] ?? {};
      if (typeof detected !== "boolean") return [];
      if (!detected) return [{ message: `It does not see the rate limit in "${text}".` }];
      return wait === wait_s ? [] : [{ message: `From "${text}" it reads a wait of ${wait} s, expected ${wait_s}.` }];
    });
    const others = otherFailures.filter((text) => members.detected[text]?.detected === true).map((text) => ({
      message: `It takes "${text}" for a rate limit.`,
    }));
    return [...limits, ...others];
  },
};
