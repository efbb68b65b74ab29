import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { fieldsOf, fieldsOrNone, type JsonFields } from "../../plugin-sdk/json-fields.ts";
import type { AgentFailure } from "../../plugins/acp/failures.ts";
import { type Habits, habitsOf } from "../../plugins/acp/habits.ts";
import { turnEnd, turnFailure } from "../../plugins/acp/turn-end.ts";
import { UpdateReader } from "../../plugins/acp/update-reader.ts";
import { judgeEvents, type ReadRecording, recordedText } from "./recorded-lines.ts";

/** One recorded session: its reader, and what it became. */
interface Played {
  reader: UpdateReader;
  session: string | null;
  events: AdapterEvent[];
  /** Ids of requests whose answer ends the session. */
  waits: Map<unknown, string>;
}

/**
 * Reads what an agent sent in a recorded exchange of messages, of which each line has `dir` (`c>a`, `a>c`) and `msg`:
 * one after the other for each session that was opened in it.
 */
export async function playRecording(file: URL): Promise<ReadRecording[]> {
  const text = await recordedText(file);
  const sessions: Played[] = [];
  let habits: Habits = {};
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const { dir, msg } = JSON.parse(line);
    const message = fieldsOf(msg);
    if (!message) throw new Error(`The recording ${file.href} holds a line without a message.`);
    const { name } = fieldsOrNone(fieldsOrNone(message["result"])["agentInfo"]);
    if (typeof name === "string") habits = habitsOf(name);
    else if (dir === "c>a") asked(sessions, message, habits);
    else said(sessions, message);
  }
  return sessions.map(({ events }) => judgeEvents(lastWordLast(events)));
}

/**
 * Reads what an agent sent in a recorded exchange of which only its own messages were kept, as the conformance kit says
 * them again: one session.
 */
export async function playAnswers(files: readonly URL[]): Promise<ReadRecording> {
  const lines = (await recordedText(...files)).split("\n").filter((one) => one !== "");
  const played: Played = { reader: new UpdateReader(), session: null, events: [], waits: new Map() };
  for (const message of lines.map((line) => fieldsOrNone(JSON.parse(line)))) {
    const { sessionId, stopReason } = fieldsOrNone(message["result"]);
    if ("method" in message) said([played], message);
    else if (typeof sessionId === "string") played.events.push(...played.reader.begin(sessionId));
    else if (stopReason !== undefined) {
      played.waits.set(message["id"], "prompt");
      answered(played, message);
    }
  }
  return judgeEvents(lastWordLast(played.events));
}

function asked(sessions: Played[], { id, method, params }: JsonFields, habits: Habits): void {
  const { sessionId } = fieldsOrNone(params);
  if (method === "session/new" || method === "session/load") {
    const session = typeof sessionId === "string" ? sessionId : null;
    sessions.push({ reader: new UpdateReader(), session, events: [], waits: new Map([[id, "session"]]) });
  }
  const played = sessionOf(sessions, sessionId);
  if (method !== "session/prompt" || !played) return;
  played.waits.set(id, "prompt");
  played.events.push(...played.reader.begin(String(sessionId), habits));
}

/** The last one that was opened under this id. */
function sessionOf(sessions: Played[], id: unknown): Played | undefined {
  return sessions.findLast(({ session }) => session === id) ?? sessions.at(-1);
}

function said(sessions: Played[], message: JsonFields): void {
  const answers = sessions.find(({ waits }) => waits.has(message["id"]) && !("method" in message));
  if (answers) return answered(answers, message);
  const { sessionId } = fieldsOrNone(message["params"]);
  const events = sessionOf(sessions, sessionId)?.events ?? [];
  const reader = sessionOf(sessions, sessionId)?.reader;
  events.push(...reader?.read(message) ?? [{ type: "unparsed", data: message }]);
}

function answered(played: Played, { id, result, error }: JsonFields): void {
  const { reader, events, waits } = played;
  const what = waits.get(id);
  waits.delete(id);
  if (what === "session") played.session ??= String(fieldsOrNone(result)["sessionId"]);
  if (error !== undefined) events.push(...turnFailure(error as AgentFailure, reader.end()));
  else if (what === "prompt") {
    events.push(...turnEnd(fieldsOrNone(result), reader.end(), { prompt: "", rejected: false }));
  }
}

/** Notices come after the last word as well; the adapter gives that one last. */
function lastWordLast(events: readonly AdapterEvent[]): AdapterEvent[] {
  const isLast = ({ type }: AdapterEvent) => type === "completed" || type === "error";
  return [...events.filter((event) => !isLast(event)), ...events.filter(isLast)];
}
