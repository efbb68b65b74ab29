import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { enableOne } from "./unknown-adapter.ts";
import type { PassedOver, Route, RouteWish } from "./choose-route.ts";

/**
 * Returns the route if it has a candidate.
 * @throws {BulkheadError} `unknown_adapter`, `rate_limit`, `invalid_model` or `too_large` if all were passed over for
 * that reason, else `unavailable`; it gives the reason and the next step for each adapter, and `details.passed_over`
 * has them as data
 */
export function demandCandidate(route: Route, { wanted }: Pick<RouteWish, "wanted">): Route {
  if (route.candidates.length > 0) return route;
  const { passed_over } = route;
  const details = { passed_over: structuredClone(passed_over) };
  const [first, ...others] = new Set(passed_over.map(({ code }) => code));
  if (first === undefined) {
    throw new BulkheadError(
      "unknown_adapter",
      wanted === "auto" ? "No adapter is enabled." : "The chain names no adapter.",
      { hint: enableOne, details },
    );
  }
  const who = wanted === "auto" ? "enabled adapter" : "adapter that was named";
  const lines = passed_over.map((one) => `\n  ${passedOverLine(one)}`);
  throw new BulkheadError(
    others.length > 0 ? "unavailable" : first,
    `No ${who} can take this session:${lines.join("")}`,
    {
      hint: '"bulkhead agents" shows all of them.',
      details,
    },
  );
}

/** Writes in one line why an adapter was passed over and what to do about it. */
export function passedOverLine({ adapter_id, reason, next_step }: PassedOver): string {
  return `${adapter_id}: ${reason}${next_step === undefined ? "" : ` ${next_step}`}`;
}
