import type { Admitted } from "./admitted.ts";
import type { SessionTurns } from "./session-turns.ts";

/** Returns the turn that a session's own prompt is. */
export function firstTurnOf(
  { request, firstTurn, follows }: Pick<Admitted, "request" | "firstTurn" | "follows">,
): ConstructorParameters<typeof SessionTurns>[0]["first"] {
  return {
    number: firstTurn,
    text: request.prompt,
    content: request.content ?? [],
    outputSchema: request.output_schema,
    memory: follows?.memory ?? "none",
  };
}

/** Returns the most time that a turn takes. Milliseconds. A request and a manifest may only shorten the operator's deadlines. */
export function totalMsOf(
  { request, candidates: [{ plugin: { manifest, limits } }] }: Pick<Admitted, "request" | "candidates">,
): number {
  return Math.min(request.timeout_ms ?? manifest.defaults?.timeout_ms ?? Infinity, limits.timeout_ms);
}
