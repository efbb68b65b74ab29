import { healthStatusSchema } from "../../../../plugin-sdk/availability.ts";
import { type Rule, skipped } from "../rule.ts";
import { callFaults } from "../schema-faults.ts";

/** Checks the result of healthCheck(). */
export const healthRule: Rule = {
  id: "health",
  title: "healthCheck() gives a health status that fits its schema.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return callFaults("healthCheck", { calls: members.calls, schema: healthStatusSchema });
  },
};
