import { type AccessMode, accessModeSchema } from "../../../../plugin-sdk/access-modes.ts";
import { type Rule, skipped } from "../rule.ts";
import { schemaFaults } from "../schema-faults.ts";

/** DRIFT: who pays is decided by what the manifest declares. */
export const accessModesRule: Rule = {
  id: "access-modes",
  title: "The adapter has no access mode that its manifest does not declare.",
  check({ members, manifest }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    if (!Array.isArray(members.access_modes)) return [{ message: "accessModes is no list." }];
    const declared = new Set((manifest.access_modes ?? []).map(keyOf));
    return members.access_modes.flatMap((mode: unknown) => {
      const [fault] = schemaFaults(accessModeSchema, mode);
      if (fault !== undefined) return [{ message: `An access mode does not fit its schema: ${fault}` }];
      const key = keyOf(mode as AccessMode);
      return declared.has(key)
        ? []
        : [{ message: `DRIFT: the adapter has the access mode ${key}, its manifest has not.` }];
    });
  },
};

function keyOf(mode: AccessMode): string {
  return mode.type === "subscription" ? `subscription ${mode.plan}` : `${mode.type} ${mode.model}`;
}
