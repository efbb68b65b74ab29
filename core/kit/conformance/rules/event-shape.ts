import { misfits } from "../misfits.ts";
import { findings, type Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** An event that does not fit is kept as `unparsed`, which no client understands. */
export const eventShapeRule: Rule = {
  id: "event-shape",
  title: "Every event fits its schema.",
  check(seen) {
    return ordinary(seen).flatMap((take) => findings(misfits(take.events, "shape"), nameOf(take)));
  },
};
