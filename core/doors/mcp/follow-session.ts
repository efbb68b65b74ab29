import {
  inputRequired,
  inputResponse,
  isCallToolResult,
  type LoggingLevel,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Envelope, MessageDroppedEvent, TurnEndedEvent } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { type AskedRequest, AskedRequests } from "../../sessions/host/asked-requests.ts";
import type { Weight } from "../../ground/checks/event-words.ts";
import { eventSentence } from "../../sessions/host/event-sentence.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { formOf, takeForm, waitingOf } from "./forms.ts";
import { flowOf } from "./response-flow.ts";
import type { McpAnswer, McpCall } from "./surface.ts";
import { droppedAnswer, endedAnswer, turnAnswer, waitingAnswer } from "./session-data.ts";

/** Shortest time between progress notifications of one call. */
const progressEveryMs = 100;

/** In a request: its progress tells each event whole. In progress: the event. */
const eventsMeta = "bulkhead/events";
const eventMeta = "bulkhead/event";

/** The turn that a call waits for; that of a message is told when the agent has it. Neither: the next one that ends. */
interface Awaited {
  message_id?: string | undefined;
  turn?: number | undefined;
}

interface FollowOptions {
  /** `seq` of the last event that is known. */
  after?: number;
  awaited?: Awaited | undefined;
  /** Does what a cancelled call asks for; default: interrupts the session. */
  cancel?: () => Promise<unknown>;
}

/**
 * Follows a session until it ends, a turn of it is over, or its agent asks something. Sends events to the client as progress, and in the older
 * protocol as log messages.
 * A client that can ask its person gets the question, and repeats the call with the answer.
 * A cancelled call interrupts the session, or what the caller says.
 */
export async function followSession(
  handle: SessionHandle,
  { context, canAsk }: McpCall,
  { after = 0, awaited = {}, cancel = () => handle.interrupt() }: FollowOptions = {},
): Promise<McpAnswer> {
  const { signal } = context.mcpReq;
  const interrupt = () => void cancel().catch(() => {});
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt, { once: true });
  const stop = await untilStop(handle, context, { after, awaited });
  if (!("asked" in stop)) {
    signal.removeEventListener("abort", interrupt);
    if ("result" in stop) return endedAnswer(stop.result);
    return "turn" in stop ? turnAnswer(handle.id, stop.turn) : droppedAnswer(stop.dropped);
  }
  if (!canAsk) {
    signal.removeEventListener("abort", interrupt);
    return waitingAnswer(handle.id, [waitingOf(stop.asked)]);
  }
  // In the newer protocol the call is over here, and an abort of its signal no longer means that it was cancelled.
  if (context.mcpReq.envelope !== undefined) signal.removeEventListener("abort", interrupt);
  const state: CallState = {
    session_id: handle.id,
    request_id: stop.asked.request_id,
    after: stop.seq,
    ...omitUndefined(stop.awaited),
  };
  return inputRequired({
    inputRequests: { [answerKey]: formOf(stop.asked) },
    requestState: JSON.stringify(state),
  });
}

/** Resumes a call that waited for an answer; null where the call is a new one. */
export async function resumeCall(
  sessions: SessionHost,
  call: McpCall,
): Promise<McpAnswer | null> {
  const { context } = call;
  const state = readState(context.mcpReq.requestState<unknown>());
  if (state === null) return null;
  const handle = await sessions.open(state.session_id);
  const response = inputResponse(context.mcpReq.inputResponses, answerKey);
  const goOn = () => followSession(handle, call, { after: state.after, awaited: state });
  if (response.kind !== "elicit") {
    // No person was asked: the session waits on, and the client may still use the answer tool.
    const { waiting } = await sessions.get(state.session_id);
    const open = waiting.filter(({ request_id }) => request_id === state.request_id);
    return open.length > 0 ? waitingAnswer(state.session_id, open) : await goOn();
  }
  if (!await takeForm(handle, state.request_id, response)) return await goOn();
  const why = response.action === "accept" ? "not understood" : "declined";
  return withNote(await goOn(), `The agent's request was denied: its form was ${why}.`);
}

/** Adds words of the host to an answer that ends a call. */
function withNote(answer: McpAnswer, text: string): McpAnswer {
  return "content" in answer && isCallToolResult(answer)
    ? { ...answer, content: [...answer.content, { type: "text", text }] }
    : answer;
}

const answerKey = "answer";

/** State of a call while the client asks its person. It grants no rights: any session can be answered by its id. */
interface CallState extends Awaited {
  session_id: string;
  request_id: string;
  after: number;
}

function readState(text: unknown): CallState | null {
  if (typeof text !== "string") return null;
  try {
    const { session_id, request_id, after, message_id, turn } = JSON.parse(text) as Partial<CallState>;
    if (typeof session_id === "string" && typeof request_id === "string" && Number.isSafeInteger(after)) {
      return { session_id, request_id, after: after!, message_id, turn };
    }
  } catch { /* Told below. */ }
  throw new BulkheadError("invalid_request", "Cannot go on with the call: its requestState is not one of this server.");
}

type Stop =
  | { result: SessionResult }
  | { turn: TurnEndedEvent }
  | { dropped: MessageDroppedEvent }
  | { asked: AskedRequest; seq: number; awaited: Awaited };

async function untilStop(
  handle: SessionHandle,
  context: ServerContext,
  { after, awaited: { message_id, turn } }: { after: number; awaited: Awaited },
): Promise<Stop> {
  const left = new AbortController();
  let asked: AskedRequest | null = null;
  // Do not use Promise.race(): it would keep each event for as long as nothing is asked.
  const requests = new AskedRequests((request) => {
    asked ??= request;
    left.abort();
  });
  const tell = teller(context);
  let seq = after;
  try {
    for await (const envelope of handle.events({ after, signal: left.signal })) {
      seq = envelope.seq;
      await tell(envelope);
      const { event } = envelope;
      requests.see(event);
      if (event.type === "session_ended") return { result: event.result };
      if (event.type === "message_delivered" && event.message_id === message_id) ({ turn } = event);
      if (event.type === "message_dropped" && event.message_id === message_id) return { dropped: event };
      const isAwaited = turn === undefined ? message_id === undefined : "turn" in event && event.turn === turn;
      if (event.type === "turn_ended" && isAwaited) return { turn: event };
      if (asked !== null) break;
    }
    return asked === null ? { result: await handle.result() } : { asked, seq, awaited: { message_id, turn } };
  } finally {
    requests.close();
    left.abort();
  }
}

const levels: { readonly [W in Weight]: LoggingLevel } = {
  debug: "debug",
  info: "info",
  warning: "warning",
  error: "error",
};

/** Sends events to the client; a client that is gone must not fail the session. */
function teller(context: ServerContext): (envelope: Envelope) => Promise<void> {
  const { mcpReq } = context;
  const flow = flowOf(context);
  const token = mcpReq._meta?.progressToken;
  const wantsEvents = mcpReq._meta?.[eventsMeta] === true;
  let toldAt = -Infinity;
  return async (envelope) => {
    const { weight, text } = eventSentence(envelope.event);
    await mcpReq.log(levels[weight], envelope, "bulkhead.session").catch(() => {});
    const waits = flow?.told(envelope);
    if (waits) await waits;
    if (token === undefined) return;
    const now = performance.now();
    const isLeftOut = weight === "debug" || text === "" || now - toldAt < progressEveryMs;
    if (isLeftOut && !wantsEvents) return;
    toldAt = now;
    const event = wantsEvents ? { _meta: { [eventMeta]: envelope } } : {};
    const params = { progressToken: token, progress: envelope.seq, message: text, ...event };
    await mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}
