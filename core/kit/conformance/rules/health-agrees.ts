import { type Rule, skipped } from "../rule.ts";

/** DRIFT: a monitor and the router must not be told different things. */
export const healthAgreesRule: Rule = {
  id: "health-agrees",
  title: "healthCheck() calls healthy only what isAvailable() calls available.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const health = fieldOf(members.calls["healthCheck"]?.value, "status");
    const availability = fieldOf(members.calls["isAvailable"]?.value, "availability");
    if (typeof health !== "string" || typeof availability !== "string") return skipped("One of the two gave nothing.");
    const usable = ["available", "rate_limited", "quota_exhausted"].includes(availability);
    if ((health === "unhealthy") !== usable) return [];
    return [{ message: `DRIFT: isAvailable() says ${availability}, and healthCheck() says ${health}.` }];
  },
};

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
