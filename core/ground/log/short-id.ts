import { cleanText } from "./terminal-text.ts";

/** Returns the beginning of a session's id: enough to tell sessions apart, and every command takes it. */
export function shortId(sessionId: string, characters = 8): string {
  return cleanText(sessionId).slice(0, characters);
}

/** Shortens the ids of sessions in a sentence or a command line; digests, paths and refs stay whole. */
export function shortIds(sentence: string): string {
  return sentence.replace(named, (id) => shortId(id));
}

const named =
  /(?<=\b(?:session|conversation)s?:? "?|\bbulkhead [a-z -]+ )[0-9a-f]{32}\b|(?<=, )[0-9a-f]{32}(?= \(\d)/gi;
