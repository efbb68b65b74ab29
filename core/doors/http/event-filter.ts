import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type NeutralKind, neutralKinds } from "../../../plugin-sdk/normalise.ts";

/** Which events a client wants; each list is an alternative, and all that are given must hold. */
export interface WantedEvents {
  type?: string[];
  kind?: NeutralKind[];
  adapter?: string[];
}

/** Whether an envelope is wanted. The end of a session and a gap are told to everybody who sees the session. */
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
