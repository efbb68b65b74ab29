import { type Rule, skipped } from "../rule.ts";
import type { Take } from "../seen.ts";

/** Each session is fresh: what the one before left behind must not change it. */
export const stateRule: Rule = {
  id: "state",
  title: "A session that is run again goes the same way.",
  check({ plain, again }) {
    const [first] = plain;
    if (first === undefined || again === null) return skipped("No session was run twice.");
    const [was, is] = [wayOf(first), wayOf(again)];
    if (was === is) return [];
    return [{ message: `The first time it went ${was}, the second time ${is}.`, session: first.session }];
  },
};

/** Its kinds of events, several in a row as one: how text is cut into pieces is chance. */
function wayOf({ events, result }: Take): string {
  const kinds = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
  return [...kinds, result?.stop_reason ?? "refused"].join(", ");
}
