import type { CallToolResult } from "@modelcontextprotocol/server";
import { type TObject, type TSchema, type TString, Type } from "@sinclair/typebox";
import type { MessageDroppedEvent, TurnEndedEvent } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { shownRequests } from "../../../plugin-sdk/shown-requests.ts";
import { failure, hostProvenance, success } from "./answers.ts";

const nullableText = Type.Union([Type.String(), Type.Null()]);

/** Input of a tool about one session. */
export const sessionInput: TObject<{ session_id: TString }> = Type.Object({ session_id: Type.String() }, closed);

/** Schema of a tool's data about one session. */
export const sessionDataSchema: TSchema = Type.Object({
  session_id: Type.String(),
  state: Type.Union([Type.Literal("ended"), Type.Literal("waiting"), Type.Literal("running"), Type.Literal("kept")]),
  turn: Type.Optional(Type.Integer({ description: "The turn that is over, of a session that may take more." })),
  message_id: Type.Optional(Type.String()),
  outcome: Type.Optional(Type.String()),
  stop_reason: Type.Optional(Type.String()),
  output: Type.Optional(Type.String({ description: "The agent's final text." })),
  structured_output: Type.Optional(Type.Unknown({ description: "The result as data, if the agent gave any." })),
  usage: Type.Optional(Type.Object({}, { additionalProperties: true })),
  artifacts: Type.Optional(
    Type.Union([Type.Array(Type.Object({}, { additionalProperties: true })), Type.Null()], {
      description: "Paths that changed, as git shows.",
    }),
  ),
  artifacts_reason: Type.Optional(nullableText),
  artifacts_omitted: Type.Optional(Type.Integer({ description: "Changed paths that the list leaves out." })),
  waiting: Type.Optional(Type.Array(Type.Object({
    request_id: Type.String(),
    type: Type.Union([Type.Literal("permission_request"), Type.Literal("question")]),
    text: Type.String(),
    choices: Type.Array(Type.String()),
  }))),
  next_step: Type.Optional(Type.String()),
  resources: Type.Object({ events: Type.String(), result: Type.String() }),
}, { additionalProperties: true });

/** Formats the answer about a session that has ended: success where it completed, else failure with all known facts. */
export function endedAnswer(result: SessionResult): CallToolResult {
  const { outcome, error, stop_reason } = result;
  const told = endedData(result);
  if (outcome === "completed") return success(told);
  return failure(error ?? { code: "fatal", message: `The session ended: ${stop_reason}.` }, told);
}

/** Returns all known facts of a session that has ended. */
export function endedData(result: SessionResult): Parameters<typeof success>[0] {
  const { requested: _requested, events: _events, confidence, metadata, provenance, ...data } = result;
  return {
    data: { ...data, state: "ended", resources: resourcesOf(result.session_id) },
    confidence,
    metadata,
    provenance,
  };
}

/** Formats the answer about a turn that is over. Its session may take the next one. */
export function turnAnswer(sessionId: string, { type: _, checkpoint: _c, ...turn }: TurnEndedEvent): CallToolResult {
  const told = {
    data: {
      session_id: sessionId,
      state: "kept",
      ...turn,
      next_step: 'Call "send_message" to go on, or "interrupt_session" to end it.',
      resources: resourcesOf(sessionId),
    },
    provenance: { ...hostProvenance, session_id: sessionId },
  };
  if (turn.outcome === "completed") return success(told);
  return failure(turn.error ?? { code: "fatal", message: `The turn ended: ${turn.stop_reason}.` }, told);
}

/** Formats the answer about a message that the agent does not get in the session that had it. */
export function droppedAnswer({ message_id, reason, to }: MessageDroppedEvent): CallToolResult {
  if (to !== undefined) return runningAnswer(to);
  return failure({
    code: "conflict",
    message: `The agent did not get the message: ${reason}.`,
    details: { message_id },
  });
}

/** Formats the answer about a session whose agent waits for an answer. */
export function waitingAnswer(sessionId: string, waiting: readonly WaitingRequest[]): CallToolResult {
  return success({
    data: {
      session_id: sessionId,
      state: "waiting",
      waiting: shownRequests(waiting),
      next_step:
        'Call "answer" with session_id, request_id and one of the choices, or your own words where there are none.',
      resources: resourcesOf(sessionId),
    },
    provenance: { ...hostProvenance, session_id: sessionId },
  });
}

/** Formats the answer about a session that goes on by itself. */
export function runningAnswer(sessionId: string, messageId?: string): CallToolResult {
  return success({
    data: {
      session_id: sessionId,
      message_id: messageId,
      state: "running",
      next_step: 'Call "read_session" for what it does, or "interrupt_session" to stop it.',
      resources: resourcesOf(sessionId),
    },
    provenance: { ...hostProvenance, session_id: sessionId },
  });
}

/** Returns the addresses at which a session can be read. */
function resourcesOf(sessionId: string): { events: string; result: string } {
  const base = `bulkhead://sessions/${sessionId}`;
  return { events: `${base}/events`, result: `${base}/result` };
}
