import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import { ByteQueue } from "../../walls/channel/byte-queue.ts";
import { weightOf } from "../../walls/channel/weight.ts";

interface Kept {
  id: number;
  stream: string;
  message: JSONRPCMessage;
}

/** Size of a message beyond its text. Bytes. */
const messageBytes = 256;
/** Bytes of messages to keep for a client that lost its connection. */
const keptBytes = 4 * 1024 * 1024;

/** Keeps the newest messages of one connection, for a client that resumes and asks for those it missed. */
export function keepMessages(): EventStore {
  const kept = new ByteQueue<Kept>(keptBytes);
  let lastId = 0;
  const find = (eventId: string) => [...kept].find(({ id }) => String(id) === eventId);
  return {
    async storeEvent(stream, message) {
      const one = { id: ++lastId, stream, message };
      const bytes = weightOf(message) + messageBytes;
      // A message larger than the whole buffer is not kept: a client that missed it is told so.
      while (!kept.offer(one, bytes) && kept.length > 0) kept.take();
      return String(lastId);
    },
    async getStreamIdForEventId(eventId) {
      return find(eventId)?.stream;
    },
    async replayEventsAfter(eventId, { send }) {
      const from = find(eventId);
      if (from === undefined) throw new Error("The messages after this one are no longer held.");
      const missed = [...kept].filter(({ id, stream }) => id > from.id && stream === from.stream);
      for (const { id, message } of missed) {
        // An entry that only marks a place in the stream is no message.
        if ("method" in message || "result" in message || "error" in message) await send(String(id), message);
      }
      return from.stream;
    },
  };
}
