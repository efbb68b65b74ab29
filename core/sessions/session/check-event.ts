import {
  type AdapterEvent,
  adapterEventSchemas,
  type AdapterEventType,
  type UnparsedEvent,
} from "../../../plugin-sdk/events.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { checksByType } from "../../ground/checks/checks-by-type.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import { refusedEvent } from "../../ground/checks/refused-event.ts";
import { faultsOf } from "../../ground/config/check-against.ts";
import { didYouMean, pathText } from "../../ground/config/yaml-problems.ts";

const checks = checksByType(adapterEventSchemas);

/** Longest problem: names in an event may be long. */
const maxProblem = 512;

/** Fields that may hold any JSON: no schema bounds their nesting. */
const openFields = ["input", "output", "data"] as const;

/**
 * Turns a yielded value into an event of the contract. A value that does not fit is kept as `unparsed`, with the
 * reason. Nesting deeper than `maxDepth` is cut off there, because serialising it would overflow the stack.
 */
export function checkEvent(yielded: unknown, maxDepth: number): AdapterEvent {
  const type = typeof yielded === "object" && yielded !== null && "type" in yielded ? yielded.type : undefined;
  const check = typeof type === "string" ? checks.get(type) : undefined;
  if (!check?.Check(yielded)) return misfit(yielded, { problem: problemOf(yielded, type), maxDepth });
  const event = yielded as AdapterEvent;
  for (const field of openFields) {
    const value: unknown = (event as unknown as Record<string, unknown>)[field];
    if (typeof value === "object" && !isShallow(value, maxDepth)) {
      return misfit(yielded, { problem: `${event.type}.${field} is nested deeper than ${maxDepth} levels.`, maxDepth });
    }
  }
  return event;
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
