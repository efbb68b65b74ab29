import type { WaitingRequest } from "./session-summary.ts";
import { shortText } from "./short-text.ts";

/** Most characters of all texts and choices in one session's summary, without the requests' ids. */
const maxCharacters = 4096;

/**
 * Returns the requests as a summary shows them. They share its characters equally, half for the text and half for the
 * choices, so a page of summaries stays small even for long requests. A choice is shown whole or not at all, so that a
 * client can answer with any choice it sees.
 */
export function shownRequests(requests: readonly WaitingRequest[]): WaitingRequest[] {
  const half = Math.max(2, Math.floor(maxCharacters / 2 / requests.length));
  return requests.map((request) => {
    const text = shortText(request.text, half);
    const choices = withinCharacters(request.choices, half);
    const isCut = request.cut === true || text !== request.text || choices.length < request.choices.length;
    return { ...request, text, choices, ...(isCut ? { cut: true as const } : {}) };
  });
}

function withinCharacters(choices: readonly string[], most: number): string[] {
  let left = most;
  const end = choices.findIndex((choice) => (left -= choice.length + 1) < 0);
  return end === -1 ? [...choices] : choices.slice(0, end);
}
