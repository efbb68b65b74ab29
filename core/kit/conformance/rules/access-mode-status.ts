import { accessModeStatusSchema } from "../../../../plugin-sdk/access-modes.ts";
import { type Rule, skipped } from "../rule.ts";
import { callFaults } from "../schema-faults.ts";

/** Checks the result of getAccessMode(). */
export const accessModeStatusRule: Rule = {
  id: "access-mode-status",
  title: "getAccessMode() gives a status that fits its schema, or null.",
  check({ members }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return callFaults("getAccessMode", { calls: members.calls, schema: accessModeStatusSchema, nullable: true });
  },
};
