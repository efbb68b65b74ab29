import { type Rule, skipped } from "../rule.ts";

/** DRIFT: what the adapter says of itself must be what its manifest says. */
export const identityRule: Rule = {
  id: "identity",
  title: "The adapter's id, name and version are those of its manifest.",
  check({ members, manifest }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    return (["id", "name", "version"] as const).flatMap((key) => {
      // Another rule reports a value that is no text.
      if (members[key] === manifest[key] || typeof members[key] !== "string") return [];
      const said = JSON.stringify(members[key]);
      return [{ message: `DRIFT: the manifest's ${key} is "${manifest[key]}", the adapter's ${said}.` }];
    });
  },
};
