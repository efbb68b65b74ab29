import { fellSilent } from "../endings.ts";
import type { Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** Agents that die often exit as if all were well, so silence is a failure. */
export const lastWordRule: Rule = {
  id: "last-word",
  title: "Every session ends with a completed or an error event.",
  check(seen) {
    return ordinary(seen).filter(fellSilent).map((take) => ({
      message: "The session ended without a last word.",
      session: nameOf(take),
    }));
  },
};
