import type { TSchema } from "@sinclair/typebox";
import type { TypeCheck } from "@sinclair/typebox/compiler";
import { type AdapterEvent, adapterEventSchemas, type UnparsedEvent } from "../../../plugin-sdk/events.ts";
import { checksByType } from "../../ground/checks/checks-by-type.ts";
import { isShallow } from "../../ground/checks/depth.ts";

const checks = checksByType(adapterEventSchemas);

/** Fields that may hold any JSON: no schema bounds their nesting. */
const openFields = ["input", "output", "data"] as const;

/**
 * Turns a yielded value into an event of the contract. A value that does not fit is kept as `unparsed`, with the
 * reason. Nesting deeper than `maxDepth` is cut off there, because serialising it would overflow the stack.
 */
export function checkEvent(yielded: unknown, maxDepth: number): AdapterEvent {
  const type = typeof yielded === "object" && yielded !== null && "type" in yielded ? yielded.type : undefined;
  const check = typeof type === "string" ? checks.get(type) : undefined;
  if (!check?.Check(yielded)) return misfit(yielded, { problem: problemOf(yielded, check), maxDepth });
  const event = yielded as AdapterEvent;
  for (const field of openFields) {
    const value: unknown = (event as unknown as Record<string, unknown>)[field];
    if (typeof value === "object" && !isShallow(value, maxDepth)) {
      return misfit(yielded, { problem: `"${field}" is nested deeper than ${maxDepth} levels`, maxDepth });
    }
  }
  return event;
}

function misfit(yielded: unknown, { problem, maxDepth }: { problem: string; maxDepth: number }): UnparsedEvent {
  const kept = isShallow(yielded, maxDepth) ? yielded : "(nested too deeply to be kept)";
  return { type: "unparsed", data: { problem, yielded: kept } };
}

function problemOf(yielded: unknown, check: TypeCheck<TSchema> | undefined): string {
  if (!check) return "It has no known event type.";
  const first = check.Errors(yielded).First();
  return first ? `${first.path || "/"}: ${first.message}` : "It does not fit its schema.";
}
