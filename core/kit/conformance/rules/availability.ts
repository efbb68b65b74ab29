import { availabilityReportSchema } from "../../../../plugin-sdk/availability.ts";
import { type Rule, skipped } from "../rule.ts";
import { callFaults } from "../schema-faults.ts";

/** Checks the result of isAvailable(). */
export const availabilityRule: Rule = {
  id: "availability",
  title: "isAvailable() gives a report that fits its schema.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return callFaults("isAvailable", { calls: members.calls, schema: availabilityReportSchema });
  },
};
