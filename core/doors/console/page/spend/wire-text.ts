import type { WireUsage } from "../../../../../plugin-sdk/result.ts";
import { countText } from "./count-text.ts";

/** Tells what the host saw of the agent's calls of its model. */
export function wireText({ calls, unknown, reported_tokens }: WireUsage): string {
  return [
    `${countText(calls)} model ${calls === 1 ? "call" : "calls"} seen`,
    ...(unknown === 0 ? [] : [`${countText(unknown)} without whole figures`]),
    ...(reported_tokens === undefined ? [] : [`the agent reports ${countText(reported_tokens)} tokens`]),
  ].join(" · ");
}
