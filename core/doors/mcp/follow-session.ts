import {
  inputRequired,
  inputResponse,
  isCallToolResult,
  type LoggingLevel,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { type AskedRequest, AskedRequests } from "../../sessions/host/asked-requests.ts";
import type { Weight } from "../../ground/checks/event-words.ts";
import { cleanLines, eventSentence, oneLine } from "../../sessions/host/event-sentence.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { flowOf } from "./response-flow.ts";
import type { McpAnswer, McpCall } from "./surface.ts";
import { endedAnswer, waitingAnswer } from "./session-data.ts";

/** Shortest time between progress notifications of one call. */
const progressEveryMs = 100;

/**
 * Follows a session until it ends or its agent asks something. Sends events to the client as progress and log messages.
 * A client that can ask its person gets the question, and repeats the call with the answer.
 * A cancelled call interrupts the session.
 */
export async function followSession(
  handle: SessionHandle,
  { context, canAsk }: McpCall,
  { after = 0 }: { after?: number } = {},
): Promise<McpAnswer> {
  const { signal } = context.mcpReq;
  const interrupt = () => void handle.interrupt().catch(() => {});
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt, { once: true });
  const stop = await untilStop(handle, context, after);
  if ("result" in stop) {
    signal.removeEventListener("abort", interrupt);
    return endedAnswer(stop.result);
  }
  if (!canAsk) {
    signal.removeEventListener("abort", interrupt);
    return waitingAnswer(handle.id, [waitingOf(stop.asked)]);
  }
  // In the newer protocol the call is over here, and an abort of its signal no longer means that it was cancelled.
  if (context.mcpReq.envelope !== undefined) signal.removeEventListener("abort", interrupt);
  const state: CallState = { session_id: handle.id, request_id: stop.asked.request_id, after: stop.seq };
  return inputRequired({
    inputRequests: { [answerKey]: inputRequired.elicit(elicitation(stop.asked)) },
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
  const goOn = () => followSession(handle, call, { after: state.after });
  if (response.kind !== "elicit") {
    // No person was asked: the session waits on, and the client may still use the answer tool.
    const { waiting } = await sessions.get(state.session_id);
    const open = waiting.filter(({ request_id }) => request_id === state.request_id);
    return open.length > 0 ? waitingAnswer(state.session_id, open) : await goOn();
  }
  const said = response.action === "accept" ? response.content?.["answer"] : undefined;
  const isTaken = typeof said === "string" && await handle.answer(state.request_id, said);
  // Anything but one of the choices is a no: the client must not answer in its person's place.
  if (isTaken || !await handle.answer(state.request_id, null)) return await goOn();
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
interface CallState {
  session_id: string;
  request_id: string;
  after: number;
}

function readState(text: unknown): CallState | null {
  if (typeof text !== "string") return null;
  try {
    const { session_id, request_id, after } = JSON.parse(text) as Partial<CallState>;
    if (typeof session_id === "string" && typeof request_id === "string" && Number.isSafeInteger(after)) {
      return { session_id, request_id, after: after! };
    }
  } catch { /* Told below. */ }
  throw new BulkheadError("invalid_request", "Cannot go on with the call: its requestState is not one of this server.");
}

type Stop = { result: SessionResult } | { asked: AskedRequest; seq: number };

async function untilStop(handle: SessionHandle, context: ServerContext, after: number): Promise<Stop> {
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
      requests.see(envelope.event);
      if (envelope.event.type === "session_ended") return { result: envelope.event.result };
      if (asked !== null) break;
    }
    return asked === null ? { result: await handle.result() } : { asked, seq };
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
  let toldAt = -Infinity;
  return async (envelope) => {
    const { weight, text } = eventSentence(envelope.event);
    await mcpReq.log(levels[weight], envelope, "bulkhead.session").catch(() => {});
    const waits = flow?.told(envelope);
    if (waits) await waits;
    const now = performance.now();
    if (token === undefined || weight === "debug" || text === "" || now - toldAt < progressEveryMs) return;
    toldAt = now;
    const params = { progressToken: token, progress: envelope.seq, message: text };
    await mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}

function elicitation(request: AskedRequest): Parameters<typeof inputRequired.elicit>[0] {
  const { text, choices } = waitingOf(request);
  const titles = request.type === "permission_request" ? request.options.map(({ label }) => label) : choices;
  const closed = choices.length > 0 ? { enum: choices, enumNames: titles.map(oneLine) } : {};
  return {
    message: cleanLines(text),
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title: "Answer", ...closed } },
      required: ["answer"],
    },
  };
}

function waitingOf(request: AskedRequest): WaitingRequest {
  const { request_id, type } = request;
  if (type === "question") return { request_id, type, text: request.question, choices: request.options ?? [] };
  const choices = request.options.map(({ id }) => id);
  return {
    request_id,
    type,
    text: `The agent asks to use ${oneLine(request.tool)}: ${oneLine(request.title)}`,
    choices,
  };
}
