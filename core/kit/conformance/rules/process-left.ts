import type { Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** A program that the host has to end may have been at work still. */
export const processLeftRule: Rule = {
  id: "process-left",
  title: "The adapter waits for the programs that it starts.",
  check(seen) {
    return ordinary(seen).flatMap((take) =>
      take.envelopes.flatMap(({ event }) =>
        event.type === "process_exited" && event.signal !== null
          ? [{ message: `A program still ran at the end and was ended by ${event.signal}.`, session: nameOf(take) }]
          : []
      )
    );
  },
};
