import { rateLimitWaitMs } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";

/** The engine waits as long as the event says, and only for a rate limit. */
export const rateLimitSessionRule: Rule = {
  id: "rate-limit-session",
  title: "A session whose tool meets a rate limit ends as one, and says how long to wait.",
  check({ modes }) {
    const take = modes.rate_limit;
    if (take === undefined) return skipped("No tool is scripted.");
    const reason = take.result?.stop_reason ?? take.refused?.code;
    if (reason !== "rate_limit") {
      return [{ message: `The tool met a rate limit and the session ended as ${reason}, expected rate_limit.` }];
    }
    const waits = take.events.flatMap((event) => (event.type === "rate_limit" ? [event.wait_ms] : []));
    if (waits.some((wait) => wait !== null && Math.abs(wait - rateLimitWaitMs) <= 2000)) return [];
    return [{ message: `It was asked to wait ${rateLimitWaitMs} ms and says ${JSON.stringify(waits)}.` }];
  },
};
