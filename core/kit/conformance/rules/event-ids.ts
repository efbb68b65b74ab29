import { misfits } from "../misfits.ts";
import { findings, type Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** Calls and requests are told apart by their ids. */
export const eventIdsRule: Rule = {
  id: "event-ids",
  title: "Ids of calls and requests are used once, and results answer open calls.",
  check(seen) {
    return ordinary(seen).flatMap((take) => findings(misfits(take.events, "rule"), nameOf(take)));
  },
};
