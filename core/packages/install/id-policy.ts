import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { reservedIds } from "../../ground/config/plugin-ids.ts";

/** An id that is in use, and by what. */
export interface KnownId {
  id: string;
  /** Such as `bundled` or `installed`. */
  origin: string;
}

/** Finds an id that a person could take this one for: a reserved one too. */
export function similarId(id: string, known: readonly KnownId[]): KnownId | undefined {
  return known.find((other) => other.id !== id && looksLike(id, other.id)) ??
    reservedIds.map((reserved) => ({ id: reserved, origin: "reserved" })).find((other) => looksLike(id, other.id));
}

/**
 * Refuses an id that a person could take for another one: what differs from it by one typing slip, or looks the same.
 * @throws {BulkheadError} `duplicate_plugin`
 */
export function checkNewId(id: string, known: readonly KnownId[]): void {
  const near = similarId(id, known);
  if (near === undefined) return;
  throw new BulkheadError(
    "duplicate_plugin",
    `Cannot install plugin "${id}": its id looks like "${near.id}", which is ${near.origin}.`,
    {
      hint: "If it is the one you mean, install it with --allow-similar-id.",
      details: { plugin_id: id, similar_to: near.id },
    },
  );
}

/** Whether one id may pass for another. */
function looksLike(a: string, b: string): boolean {
  if (skeleton(a) === skeleton(b)) return true;
  // Of two short words nearly all are one letter apart.
  return Math.min(a.length, b.length) >= 4 && oneEdit(a, b);
}

/** Reduces an id to its look at a glance: without hyphens, and with one letter for all that resemble it. */
function skeleton(id: string): string {
  return id
    .replaceAll("-", "")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replaceAll("cl", "d")
    .replaceAll("0", "o")
    .replaceAll("5", "s")
    .replace(/[1i]/g, "l");
}

/** One letter put in, left out, changed, or swapped with its neighbour. */
function oneEdit(a: string, b: string): boolean {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const left = a.slice(start, a.length - end);
  const right = b.slice(start, b.length - end);
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
