import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Some events in order, at least one. */
export interface EnvelopeBatch {
  readonly envelopes: readonly Envelope[];
  /** Whether every reader gets this very list, so that what is made of it once serves all of them. */
  readonly isShared: boolean;
}

/** Events that can also be read many at a time; a reader uses one of the two ways. */
export interface BatchedEvents extends AsyncIterable<Envelope> {
  /** Reads the events as they were written together. Ending the iterator ends the stream. */
  batches(): AsyncIterator<EnvelopeBatch, void>;
}

/** Returns a reader of batches; events that come only one at a time make batches of one. */
export function batchesOf(events: AsyncIterable<Envelope>): AsyncIterator<EnvelopeBatch, void> {
  if ("batches" in events) return (events as BatchedEvents).batches();
  const single = events[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await single.next();
      return done ? { done, value: undefined } : { done: false, value: { envelopes: [value], isShared: false } };
    },
    async return() {
      await single.return?.();
      return { done: true, value: undefined };
    },
  };
}
