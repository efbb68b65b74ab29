import { KindGuard, type TSchema } from "@sinclair/typebox";
import type { TypeCheck } from "@sinclair/typebox/compiler";
import {
  type AdapterEvent,
  adapterEventSchemas,
  type AdapterEventType,
  type UnparsedEvent,
} from "../../../plugin-sdk/events.ts";
import { RateLimitDetector } from "../../../plugin-sdk/rate-limit.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { refusedEvent } from "../../ground/checks/refused-event.ts";
import { faultsOf } from "../../ground/config/check-against.ts";
import { didYouMean, pathText } from "../../ground/config/yaml-problems.ts";

const limits = new RateLimitDetector();
const kinds = new Map(Object.entries(adapterEventSchemas).map(([type, schema]) => [type, kindOf(schema)]));

/** Longest problem: names in an event may be long. */
const maxProblem = 512;

/**
 * Turns a yielded value into an event of the contract. A value that does not fit is kept as `unparsed`, with the
 * reason. Nesting deeper than `maxDepth` is cut off there, because serialising it would overflow the stack.
 */
export function checkEvent(yielded: unknown, maxDepth: number): AdapterEvent {
  const type = typeof yielded === "object" && yielded !== null && "type" in yielded ? yielded.type : undefined;
  const kind = typeof type === "string" ? kinds.get(type) : undefined;
  if (!kind?.check().Check(yielded)) return misfit(yielded, { problem: problemOf(yielded, type), maxDepth });
  const event = yielded as AdapterEvent;
  for (const field of kind.openFields) {
    if (isShallow((event as unknown as Record<string, unknown>)[field], maxDepth)) continue;
    return misfit(yielded, { problem: `${event.type}.${field} is nested deeper than ${maxDepth} levels.`, maxDepth });
  }
  return event.type === "rate_limit" && event.wait_ms === null ? { ...event, wait_ms: waitIn(event.message) } : event;
}

/** Reads how long a limit lasts, in milliseconds: no compartment knows the time zones that agents name. */
export function waitIn(message: string): number | null {
  const seconds = limits.extractWaitTime(message.slice(0, 4096));
  return seconds === null ? null : seconds * 1000;
}

/** The check of a type of event, and the fields of it that may hold any JSON: no schema bounds their nesting. */
function kindOf(schema: TSchema): { check(): TypeCheck<TSchema>; openFields: string[] } {
  if (!KindGuard.IsObject(schema)) throw new TypeError("an event is an object");
  const openFields = Object.keys(schema.properties).filter((field) => isOpen(schema.properties[field]));
  return { check: lazyCheck(schema), openFields };
}

function isOpen(schema: unknown): boolean {
  return KindGuard.IsUnknown(schema) || KindGuard.IsRecord(schema);
}

function misfit(yielded: unknown, { problem, maxDepth }: { problem: string; maxDepth: number }): UnparsedEvent {
  const kept = isShallow(yielded, maxDepth) ? yielded : "(nested too deeply to be kept)";
  return refusedEvent({ problem: shortText(problem, maxProblem), yielded: kept });
}

/** Says what is wrong in one sentence: `completed needs files_changed (a list).` */
function problemOf(yielded: unknown, type: unknown): string {
  if (typeof type !== "string") return "An event needs a type.";
  if (!isEventType(type)) return noSuchType(type);
  const [fault] = faultsOf(adapterEventSchemas[type], yielded);
  if (fault === undefined) return `${type} does not fit its schema.`;
  const { path, of, expected, found, hint } = fault;
  const field = pathText(path);
  if (of === "key") return `${type} has no field ${field}${hint === undefined ? "." : `; ${hint}`}`;
  // The limits of a value do not matter where there is none.
  if (found === "nothing") {
    return `${type} needs ${field} (${expected.replace(/ of (?:at most |at least )?\d.*$/, "")}).`;
  }
  return `${type}.${field} must be ${expected}, not ${found}.`;
}

function isEventType(type: string): type is AdapterEventType {
  return Object.hasOwn(adapterEventSchemas, type);
}

function noSuchType(type: string): string {
  const hint = didYouMean(type, Object.keys(adapterEventSchemas));
  return `No event of an adapter has the type ${JSON.stringify(type)}${hint === undefined ? "." : `; ${hint}`}`;
}
