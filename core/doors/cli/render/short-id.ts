import { safeLine } from "./agent-text.ts";

/** The beginning of a session's id: enough to tell sessions apart, and every command takes it. */
export function shortId(sessionId: string, characters = 8): string {
  return safeLine(sessionId).slice(0, characters);
}
