import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { safeLine } from "./agent-text.ts";

/** The beginning of a session's id: enough to tell sessions apart, and every command takes it. */
export function shortId(sessionId: string, characters = 8): string {
  return safeLine(sessionId).slice(0, characters);
}

/** Error for the beginning of an id that several sessions share: names them with as much as tells them apart. */
export function ambiguousId(typed: string, ids: readonly string[]): BulkheadError {
  let length = Math.max(8, typed.length + 1);
  while (length < 32 && new Set(ids.map((id) => id.slice(0, length))).size < ids.length) length += 1;
  const shown = ids.slice(0, mostShown).map((id) => shortId(id, length)).join(", ");
  const more = ids.length > mostShown ? `, and ${ids.length - mostShown} more` : "";
  return new BulkheadError("invalid_request", `"${typed}" begins the ids of ${ids.length} sessions.`, {
    hint: `Type more of it: ${shown}${more}.`,
    details: { session_ids: [...ids] },
  });
}

const mostShown = 5;
