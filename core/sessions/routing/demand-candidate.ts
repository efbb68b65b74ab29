import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { enableOne } from "./unknown-adapter.ts";
import type { PassedOver, Route, RouteWish } from "./choose-route.ts";

/**
 * A route that leads somewhere.
 * @throws {BulkheadError} `unknown_adapter`, `rate_limit`, `invalid_model` or `too_large` where that is why all were
 * passed over, else `unavailable`; it says for each adapter why and what to do, and `details.passed_over` has it as data
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

/** Why an adapter was passed over, and what to do about it, in one line. */
export function passedOverLine({ adapter_id, reason, next_step }: PassedOver): string {
  return `${adapter_id}: ${reason}${next_step === undefined ? "" : ` ${next_step}`}`;
}
