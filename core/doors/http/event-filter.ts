import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type NeutralKind, neutralKinds } from "../../../plugin-sdk/normalise.ts";

/** Filter for events: each list names alternatives, and every given list must match. */
interface WantedEvents {
  type?: string[];
  kind?: NeutralKind[];
  adapter?: string[];
}

/** Whether an envelope passes the filter. The end of a session and a gap always pass. */
export function isWanted({ event, adapter }: Envelope, filter: WantedEvents): boolean {
  if (event.type === "session_ended" || event.type === "gap") return matches(adapter.id, filter.adapter);
  const kinds: Readonly<Record<string, NeutralKind | null>> = neutralKinds;
  const kind = Object.hasOwn(kinds, event.type) ? kinds[event.type] : null;
  return matches(event.type, filter.type) && matches(adapter.id, filter.adapter) &&
    (filter.kind === undefined || (kind != null && filter.kind.includes(kind)));
}

function matches(value: string, wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || wanted.includes(value);
}
