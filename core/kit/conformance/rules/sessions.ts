import { endRefused, fellSilent } from "../endings.ts";
import type { Rule } from "../rule.ts";
import { saidOf } from "../said-of.ts";
import { nameOf, ordinary, type Seen, type Take } from "../seen.ts";

/** A session without an expectation must complete. */
export const sessionsRule: Rule = {
  id: "sessions",
  title: "Sessions end as conformance.yaml expects.",
  check(seen) {
    if (seen.unscripted.length > 0) return [];
    return ordinary(seen).flatMap((take) => {
      const message = problemWith(take, seen);
      return message === null ? [] : [{ message, session: nameOf(take) }];
    });
  },
};

function problemWith(take: Take, { script }: Seen): string | null {
  const expected = script.sessions.find(({ name }) => name === take.session)?.expect ?? {};
  const { outcome = "completed", output } = expected;
  const { result, refused } = take;
  if (refused !== null) return `The session was refused: ${refused.message}`;
  // Another rule tells the cause.
  if (result === null || fellSilent(take) || (endRefused(take) && result.error?.code === "fatal")) return null;
  if (result.outcome !== outcome) {
    const why = result.error === undefined ? "" : `\n${saidOf(result.error)}`;
    return `The session ended as ${result.stop_reason}, expected ${outcome}.${why}`;
  }
  if (output === undefined || result.output.includes(output)) return null;
  return `The output lacks ${JSON.stringify(output)}: ${JSON.stringify(result.output.slice(0, 200))}.`;
}
