import { identityDrift } from "../../../packages/registry/identity-drift.ts";
import { type Rule, skipped } from "../rule.ts";

/** DRIFT: what the adapter says of itself must be what its manifest says. */
export const identityRule: Rule = {
  id: "identity",
  title: "The adapter's id, name and version are those of its manifest.",
  check({ members, manifest }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return identityDrift(manifest, members).map((message) => ({ message: `DRIFT: ${message}` }));
  },
};
