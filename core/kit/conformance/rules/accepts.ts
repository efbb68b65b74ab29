import { accepts } from "../../../sessions/session/enforceable.ts";
import { type Rule, skipped } from "../rule.ts";
import type { Seen } from "../seen.ts";

/** Fields whose values can be followed to the agent; the others may hold without being handed on. */
const traced = ["model", "system_prompt", "continue_from"] as const;

/** DRIFT: a client counts on what the manifest accepts. */
export const acceptsRule: Rule = {
  id: "accepts",
  title: "What the manifest accepts reaches the agent.",
  check(seen) {
    const { fields, manifest, scripted } = seen;
    if (fields === null) return skipped("It accepts nothing that can be followed.");
    // A tool without code says in its template what it takes; code that only lists models promises no more than those.
    const promised = (field: typeof traced[number]) =>
      manifest.cli === undefined ? manifest.accepts?.includes(field) === true : accepts(manifest, field);
    return traced.filter(promised).flatMap((field) => {
      const value = sentValue(field, seen);
      if (value === null) return [];
      if (!fields.read.includes(field)) {
        return [{ message: `DRIFT: the manifest accepts ${field}, and the adapter never looks at it.` }];
      }
      if (!scripted || fields.sent.includes(value)) return [];
      return [{ message: `DRIFT: the manifest accepts ${field}, and its value never reaches the agent.` }];
    });
  },
};

/** Returns the value that the agent must get; null where the kit knows no value to send. */
function sentValue(field: (typeof traced)[number], { members, traced: sent }: Seen): string | null {
  const value = sent[field];
  if (typeof value !== "string") return null;
  const own = field === "model" ? members?.models[value]?.value : undefined;
  return typeof own === "string" ? own : value;
}
