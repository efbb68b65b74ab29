import type { AdapterEvent } from "../../../plugin-sdk/events.ts";

/**
 * Sentences about the events that the host could not take as they were: those of no known `shape`, or those that break
 * a `rule` of the stream.
 */
export function misfits(events: readonly AdapterEvent[], kind: "shape" | "rule"): string[] {
  return events.flatMap((event) => {
    if (event.type !== "unparsed" || typeof event.data !== "object" || event.data === null) return [];
    const { problem, yielded } = event.data as { problem?: unknown; yielded?: unknown };
    if (typeof problem !== "string" || yielded === undefined) return [];
    const breaksRule = /^This \w+ breaks a rule: /.test(problem);
    if (breaksRule !== (kind === "rule")) return [];
    return [breaksRule ? problem : `An event does not fit: ${problem} It was ${JSON.stringify(yielded).slice(0, 200)}`];
  });
}
