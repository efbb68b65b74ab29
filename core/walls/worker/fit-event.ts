import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { batchCharacters, hasMoreValues } from "../channel/count-values.ts";
import type { GuestLimits } from "../channel/protocol.ts";

/** How large one event may be. */
export type EventLimits = Pick<GuestLimits, "event_bytes" | "event_values" | "message_bytes">;

const encoder = new TextEncoder();

/**
 * An event's JSON as the events to send: mostly itself. What an agent printed is split where it is too large for one
 * event. In any other event the longest texts are cut, and say so: a huge tool result arrives as its beginning.
 * @throws {BulkheadError} `too_large` for more values than an event may have, or when no cut helps
 */
export function fitEvent(text: string, limits: EventLimits): string[] {
  if (hasMoreValues(text, limits.event_values)) {
    throw new BulkheadError("too_large", `Cannot send the event: it has more than ${limits.event_values} values.`, {
      hint: "Send large data as text.",
      details: { event_values: limits.event_values },
    });
  }
  if (fits(text, limits)) return [text];
  const fitting = text.length > limits.message_bytes ? null : split(text, limits) ?? cut(text, limits);
  if (fitting !== null) return fitting;
  throw new BulkheadError("too_large", `Cannot send the event: it has more than ${limits.event_bytes} bytes.`, {
    hint: "Send less, or send it in several events.",
    details: { event_bytes: limits.event_bytes },
  });
}

/** Characters of text up to which a piece of output surely fits, and costs one credit; below zero where none does. */
export function pieceRoom({ event_bytes, event_values }: EventLimits): number {
  // A unit takes at most six bytes: as an escape. The rest is for what stands around the text.
  return event_values < pieceValues ? -1 : Math.min(event_bytes, batchCharacters) / 6 - 32;
}

/** JSON values of a piece: itself and its fields. */
const pieceValues = 4;

function fits(text: string, { event_bytes }: EventLimits): boolean {
  // Three bytes a unit is the most UTF-8 takes, so a short text needs no counting.
  return text.length * 3 <= event_bytes ||
    (text.length <= event_bytes && encoder.encode(text).byteLength <= event_bytes);
}

function split(text: string, limits: EventLimits): string[] | null {
  const event: unknown = JSON.parse(text);
  if (typeof event !== "object" || event === null || !("type" in event) || event.type !== "output") return null;
  if (!("data" in event) || typeof event.data !== "string") return null;
  const { data } = event;
  // A unit takes at most six bytes: as an escape.
  const step = Math.floor(limits.event_bytes / 6) - 256;
  const pieces: string[] = [];
  for (let at = 0; at < data.length && step > 0;) {
    const end = isHalf(data, at + step) ? at + step - 1 : at + step;
    pieces.push(JSON.stringify({ ...event, data: data.slice(at, end) }));
    at = Math.max(end, at + 1);
  }
  return pieces.length > 0 && pieces.every((piece) => fits(piece, limits)) ? pieces : null;
}

/** True when to cut there would cut a character in two. */
function isHalf(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

function cut(text: string, limits: EventLimits): string[] | null {
  for (let most = limits.event_bytes >> 2; most >= 256; most >>= 2) {
    const shorter = JSON.stringify(JSON.parse(text, (_key, value: unknown) => shortened(value, most)));
    if (fits(shorter, limits)) return [shorter];
  }
  return null;
}

function shortened(value: unknown, most: number): unknown {
  if (typeof value !== "string" || value.length <= most) return value;
  return `${shortText(value, most)} [cut: it has ${value.length} characters]`;
}
