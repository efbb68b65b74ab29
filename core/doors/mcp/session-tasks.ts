import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { AskedRequest } from "../../sessions/host/asked-requests.ts";
import { eventSentence } from "../../sessions/host/event-sentence.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import { formOf, takeForm } from "./forms.ts";
import { knownEvents } from "./read-events.ts";
import { refusal } from "./refusals.ts";
import { endedAnswer, turnAnswer } from "./session-data.ts";
import type { McpTask, McpTasks } from "./task-methods.ts";

/** Time after which a client should look again. */
const pollEveryMs = 1000;
/** Shortest time between two states of a task that a client listens to. Milliseconds. */
const statesEveryMs = 250;
/** Newest events that a look at a running session reads at first. */
const newest = 16;

/**
 * Shows sessions as tasks. A task is the first turn of a session, under the session's id: all of it is read from the
 * session's record, so it outlives the host, and a client sees the tasks of the sessions that it may see.
 */
export function sessionTasks(sessions: SessionHost): McpTasks {
  const told = <T>(taskId: string, act: (look: Look) => Promise<T>) =>
    lookAt(sessions, taskId).then(act).catch((error: unknown) => {
      throw refusal(error, { taskId });
    });
  return {
    get: (taskId, client) => told(taskId, (look) => taskOf(look, client)),
    states: (taskId, client) => statesOf(sessions, taskId, client),
    update: (taskId, forms) =>
      told(taskId, async ({ handle, summary }) => {
        for (const { request_id } of summary.waiting) {
          const form = Object.hasOwn(forms, request_id) ? forms[request_id] : undefined;
          if (form !== undefined) await takeForm(handle, request_id, form);
        }
      }),
    cancel: (taskId) =>
      told(taskId, async (look) => {
        // A session that is kept goes on: its task is over.
        if (await endOf(look) === null) await look.handle.interrupt();
      }),
  };
}

/** Answers a call with the task that its new session is. */
export async function newTask(sessions: SessionHost, sessionId: string): Promise<CallToolResult> {
  const { started_at } = await sessions.get(sessionId);
  return { resultType: "task", content: [], ...taskAt(sessionId, started_at), status: "working" };
}

interface Look {
  handle: SessionHandle;
  summary: SessionSummary;
}

async function lookAt(sessions: SessionHost, sessionId: string): Promise<Look> {
  const summary = await sessions.get(sessionId);
  return { summary, handle: await sessions.open(sessionId) };
}

function taskAt(taskId: string, createdAt: string, lastUpdatedAt = createdAt) {
  return { taskId, createdAt, lastUpdatedAt, ttlMs: null, pollIntervalMs: pollEveryMs };
}

async function taskOf(look: Look, { canAsk }: { canAsk: boolean }): Promise<McpTask> {
  const { session_id, started_at, waiting } = look.summary;
  const end = await endOf(look);
  if (end !== null) {
    const task = taskAt(session_id, started_at, end.ts);
    if (end.stop_reason !== "interrupted") {
      return { ...task, status: "completed", result: { resultType: "complete", ...end.answer } };
    }
    const statusMessage = "The session was interrupted: read_session has what it came to.";
    return { ...task, status: "cancelled", statusMessage };
  }
  const { ts, statusMessage, asked } = await newsOf(look);
  const task = { ...taskAt(session_id, started_at, ts), ...omitUndefined({ statusMessage }) };
  if (waiting.length === 0) return { ...task, status: "working" };
  if (!canAsk) {
    return { ...task, status: "working", statusMessage: 'The agent waits for an answer: call the tool "answer".' };
  }
  return { ...task, status: "input_required", inputRequests: Object.fromEntries(asked) };
}

async function* statesOf(
  sessions: SessionHost,
  taskId: string,
  { canAsk, signal }: { canAsk: boolean; signal: AbortSignal },
): AsyncGenerator<McpTask, void, void> {
  for (let told = ""; !signal.aborted; await wait(statesEveryMs, signal)) {
    const look = await lookAt(sessions, taskId);
    const { lastUpdatedAt, ...state } = await taskOf(look, { canAsk });
    const text = JSON.stringify(state);
    if (text !== told) yield { ...state, lastUpdatedAt };
    told = text;
    if (state.status === "completed" || state.status === "cancelled") return;
    await nextEvent(look, signal);
  }
}

/** Resolves once a session has an event that is newer than the look at it, or has ended. */
async function nextEvent({ handle, summary }: Look, signal: AbortSignal): Promise<void> {
  for await (const _ of handle.events({ after: summary.last_seq, signal })) return;
}

interface End {
  ts: string;
  stop_reason: StopReason;
  /** The answer of a call that had waited. */
  answer: CallToolResult;
}

/** Returns how the first turn of a session ended; null while it goes on. */
async function endOf({ handle, summary }: Look): Promise<End | null> {
  const { session_id, last_seq, state, turn, started_at, ended_at } = summary;
  if (state === "running" && (turn === undefined || (turn.number === 1 && turn.state !== "kept"))) return null;
  for await (const { ts, event } of knownEvents(handle, { last_seq })) {
    if (event.type !== "turn_ended") continue;
    return { ts, stop_reason: event.stop_reason, answer: turnAnswer(session_id, event) };
  }
  if (state === "running") return null;
  const result = await handle.result();
  return { ts: ended_at ?? started_at, stop_reason: result.stop_reason, answer: endedAnswer(result) };
}

interface News {
  ts?: string;
  statusMessage?: string;
  /** Forms of the requests that wait, by their ids. */
  asked: Map<string, unknown>;
}

/** Reads the newest events of a running session, back to the requests that wait. */
async function newsOf({ handle, summary: { last_seq, waiting } }: Look): Promise<News> {
  const open = new Set(waiting.map(({ request_id }) => request_id));
  for (let count = newest;; count *= 4) {
    const news: News = { asked: new Map() };
    for await (const { ts, event } of knownEvents(handle, { after: Math.max(0, last_seq - count), last_seq })) {
      news.ts = ts;
      const { weight, text } = eventSentence(event);
      if (weight !== "debug" && text !== "") news.statusMessage = text;
      // The summary's texts grow shorter with each further request, but a form must not change between two looks.
      if (isAsked(event) && open.has(event.request_id)) news.asked.set(event.request_id, formOf(event));
    }
    if (count >= last_seq || news.asked.size === open.size) return news;
  }
}

function isAsked(event: Envelope["event"]): event is AskedRequest {
  return event.type === "permission_request" || event.type === "question";
}
