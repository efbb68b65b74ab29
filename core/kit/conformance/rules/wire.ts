import { driftMessage } from "../../../records/wire/wire-player.ts";
import { type Rule, skipped } from "../rule.ts";

/** Rules of a session of the real program whose calls a record answers. */
export const wireRules: readonly Rule[] = [
  {
    id: "wire",
    title: "The real program makes the calls of the record, and no others.",
    check({ wire }) {
      if (wire === null) return skipped("No record of calls was given: --wire.");
      const { session, refused, result } = wire;
      const { replay, error } = result ?? {};
      if (replay === undefined) {
        return [{ message: refused?.message ?? error?.message ?? "It was not played.", session }];
      }
      const { drift, left, recorded } = replay;
      if (drift !== undefined) return [{ message: `${driftMessage(drift)}\n${drift.difference}`, session }];
      return left === 0 ? [] : [{ message: `${left} of ${recorded} recorded calls were not made.`, session }];
    },
  },
];
