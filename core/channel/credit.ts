/** Characters of JSON that count as one event more. */
const charactersPerEvent = 4096;

/**
 * What a batch of events costs its sender: one for each event, and one more for every 4,096 characters of their JSON, so
 * that few huge events cannot fill the host any more than many small ones. Both sides must come to the same number, or
 * credit is lost.
 */
export function creditOf({ events, characters }: { events: number; characters: number }): number {
  return events + extraCredit(characters);
}

/** What of the cost is for size alone. */
export function extraCredit(characters: number): number {
  return Math.floor(characters / charactersPerEvent);
}

/** The text of a batch, as the guest sends it. */
export function batchText(sid: number, events: readonly string[]): string {
  return `{"type":"events","sid":${sid},"events":[${events.join(",")}]}`;
}

/** Characters of the events alone in a batch's text. */
export function charactersOf(text: string, { sid, events }: { sid: number; events: number }): number {
  return Math.max(0, text.length - batchText(sid, []).length - Math.max(0, events - 1));
}
