import type { Envelope } from "../../../../plugin-sdk/envelope.ts";
import { mostShown } from "./shown-text.ts";

/** An envelope as the page keeps it: long texts are cut, so that a session of any size fits into a tab. */
export interface ShownEvent extends Envelope {
  /** Characters of the whole envelope, if something of it is left out. */
  cut_from?: number;
}

/** Events that are drawn, measured and folded together. */
export const blockSize = 50;

/** Returns the number of an event's block. */
export function blockOf(seq: number): number {
  return Math.floor((seq - 1) / blockSize);
}

const mostEntries = 200;
const mostDepth = 12;
/** Names, ids and kinds: what the page tells events apart by is never cut away. */
const shortText = 256;
/** Cost of a value, however short it is: many small ones fill a tab as well. */
const cost = 8;

/** Parses one line of events, and cuts what is too long to keep. */
export function readEvent(line: string): ShownEvent {
  const envelope = JSON.parse(line) as Envelope;
  if (line.length <= mostShown) return envelope;
  const event = shorten(envelope.event, { left: 4 * mostShown }, 0) as Envelope["event"];
  return { ...envelope, event, cut_from: line.length };
}

function shorten(value: unknown, room: { left: number }, depth: number): unknown {
  const isField = depth === 1;
  room.left -= cost;
  if (typeof value === "string") {
    if (isField && value.length <= shortText) return value;
    const most = Math.max(0, Math.min(mostShown, room.left));
    room.left -= Math.min(value.length, most);
    // A copy: a slice would keep the whole text in memory.
    return value.length <= most ? value : `${structuredClone(value.slice(0, most))}…`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth > mostDepth || depth > 0 && room.left <= 0) return Array.isArray(value) ? [] : {};
  if (Array.isArray(value)) return value.slice(0, mostEntries).map((one) => shorten(one, room, depth + 1));
  const fields = Object.entries(value).slice(0, mostEntries);
  return Object.fromEntries(fields.map(([name, one]) => [name, shorten(one, room, depth + 1)]));
}
