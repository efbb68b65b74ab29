import type { WireUsage } from "../../../../../plugin-sdk/result.ts";
import { countText } from "./count-text.ts";

/** Tells what the host saw of the agent's calls of its model. */
export function wireText({ calls, unknown, counted, reported_tokens }: WireUsage): string {
  return [
    `${countText(calls)} model ${calls === 1 ? "call" : "calls"} seen`,
    ...(unknown === 0 ? [] : [`${countText(unknown)} without whole figures`]),
    ...(unknown === 0 || counted === undefined ? [] : [`a budget counts ${countText(counted.tokens)} tokens`]),
    ...(reported_tokens === undefined ? [] : [`the agent reports ${countText(reported_tokens)} tokens`]),
  ].join(" · ");
}
