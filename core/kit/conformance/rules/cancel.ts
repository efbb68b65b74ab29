import { workerDied } from "../endings.ts";
import { type Rule, skipped } from "../rule.ts";
import { trialLimits } from "../trial-limits.ts";

/** After the teardown time the host leaves the adapter behind, and its unfinished work is lost. */
export const cancelRule: Rule = {
  id: "cancel",
  title: "An interrupted session ends in time.",
  check({ interrupted }) {
    if (interrupted === null || interrupted.result === null) return skipped("No session was interrupted.");
    const died = workerDied(interrupted);
    if (died !== null) return [{ message: `Interrupting it cost its worker: ${died}` }];
    const { stopped_ms } = interrupted;
    if (stopped_ms === null) return skipped("The session was over before it could be interrupted.");
    if (stopped_ms < trialLimits.teardown_timeout_ms) return [];
    return [{ message: `It was still at work ${trialLimits.teardown_timeout_ms} ms after it was interrupted.` }];
  },
};
