import { availabilityReportSchema, healthStatusSchema } from "../../../../plugin-sdk/availability.ts";
import { knownRateLimits, otherFailures, rateLimitWaitMs } from "../misbehaviour.ts";
import { ofMembers, type Rule, skipped } from "../rule.ts";
import { callFaults } from "../schema-faults.ts";

/** Rules of availability, health and rate limits. */
export const availabilityRules: readonly Rule[] = [
  // Checks the result of isAvailable().
  {
    id: "availability",
    title: "isAvailable() gives a report that fits its schema.",
    check: ofMembers((members) => {
      return callFaults("isAvailable", { calls: members.calls, schema: availabilityReportSchema });
    }),
  },
  // Checks the result of healthCheck().
  {
    id: "health",
    title: "healthCheck() gives a health status that fits its schema.",
    check: ofMembers((members) => {
      return callFaults("healthCheck", { calls: members.calls, schema: healthStatusSchema });
    }),
  },
  // DRIFT: a monitor and the router must not be told different things.
  {
    id: "health-agrees",
    title: "healthCheck() calls healthy only what isAvailable() calls available.",
    check: ofMembers((members) => {
      const health = fieldOf(members.calls["healthCheck"]?.value, "status");
      const availability = fieldOf(members.calls["isAvailable"]?.value, "availability");
      if (typeof health !== "string" || typeof availability !== "string") {
        return skipped("One of the two gave nothing.");
      }
      const usable = ["available", "rate_limited", "quota_exhausted"].includes(availability);
      if ((health === "unhealthy") !== usable) return [];
      return [{ message: `DRIFT: isAvailable() says ${availability}, and healthCheck() says ${health}.` }];
    }),
  },
  // Checks the result of getRateLimitDetector().
  {
    id: "detector",
    title: "The detector of rate limits answers with true or false, and with seconds or null.",
    check: ofMembers((members) => {
      const thrown = members.calls["getRateLimitDetector"]?.thrown;
      if (thrown) return [{ message: `getRateLimitDetector() threw ${thrown.name}: ${thrown.message}` }];
      return Object.entries(members.detected).flatMap(([text, { detected, wait, thrown: why }]) => {
        if (why !== undefined) return [{ message: `The detector threw on "${text}": ${why}` }];
        const right = typeof detected === "boolean" && (wait === null || (typeof wait === "number" && wait >= 0));
        return right ? [] : [{ message: `For "${text}" it gave ${JSON.stringify({ detected, wait })}.` }];
      });
    }),
  },
  // A limit that is not seen ends a session as fatal; a failure that is taken for one makes it wait for nothing.
  {
    id: "rate-limit-texts",
    title: "The detector finds common rate limits and those of conformance.yaml, with their wait, and nothing else.",
    check: ofMembers((members, { script }) => {
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
    }),
  },
  // The engine waits as long as the event says, and only for a rate limit.
  {
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
  },
];

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
