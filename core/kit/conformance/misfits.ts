import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { refusalOf } from "../../ground/checks/refused-event.ts";

/**
 * Sentences about the events that the host could not take as they were: those of no known `shape`, or those that break
 * a `rule` of the stream.
 */
export function misfits(events: readonly AdapterEvent[], kind: "shape" | "rule"): string[] {
  return events.flatMap((event) => {
    const refusal = refusalOf(event);
    if (refusal === null) return [];
    const { problem, yielded } = refusal;
    const breaksRule = /^This \w+ breaks a rule: /.test(problem);
    if (breaksRule !== (kind === "rule")) return [];
    return [breaksRule ? problem : `${problem} It was ${shortText(JSON.stringify(yielded), 200)}`];
  });
}
