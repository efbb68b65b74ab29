import { Type } from "@sinclair/typebox";
import { Check } from "@sinclair/typebox/value";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import type { OperationName, Operations } from "../../walls/channel/operations.ts";

type TurnOperation = Extract<OperationName, "turn_next" | "turn_wait">;

/** Gives an entry its turns. */
export interface TurnSource {
  /** Ends the turn under way, waits for the next one, and returns it; null when the entry gets no more. */
  next(args: Operations["turn_next"]["args"]): Promise<Operations["turn_next"]["value"]>;
  /** Waits for a message into a turn, or for its stop; null once it is over. */
  wait(args: Operations["turn_wait"]["args"]): Promise<Operations["turn_wait"]["value"]>;
}

const schemas = {
  turn_next: Type.Object({ seen: Type.Array(Type.String({ maxLength: 256 }), { maxItems: 1000 }) }, closed),
  turn_wait: Type.Object({
    turn: Type.Integer({ minimum: 1 }),
    for: Type.Union([Type.Literal("message"), Type.Literal("stop")]),
  }, closed),
};

/** Whether an operation is the session's to answer, and not the broker's. */
export function isTurnOperation(operation: string): operation is TurnOperation {
  return operation === "turn_next" || operation === "turn_wait";
}

/**
 * Answers a call of an adapter for turns.
 * @throws {BulkheadError} `invalid_request`
 */
export async function answerTurnCall(source: TurnSource, operation: TurnOperation, args: unknown): Promise<unknown> {
  if (!Check(schemas[operation], args)) {
    throw new BulkheadError("invalid_request", `Cannot do "${operation}": its arguments are not valid.`);
  }
  return operation === "turn_next"
    ? await source.next(args as Operations["turn_next"]["args"])
    : await source.wait(args as Operations["turn_wait"]["args"]);
}

/** Operations that change nothing, and one that waits by itself before it does. */
export const waitsItself: ReadonlySet<string> = new Set(["run", "env_get", "secret_use", "log"]);

/** Operations that do not begin any work: an adapter may call them between two turns. Others wait for the next one. */
export const worksBetweenTurns: ReadonlySet<string> = new Set<OperationName>([
  "stream_read",
  "stream_close",
  "process_wait",
  "process_kill",
  "process_close_stdin",
  "socket_read",
  "socket_close",
  "permission_wait",
  "answer_wait",
  "log",
]);
