import { fieldsOf, type JsonFields, parseJsonLine, textOf } from "bulkhead/plugin-sdk";

/** Texts of the model that an agent sent one after the other, all of one kind and of one message. */
export interface TextRun {
  kind: "agent_message_chunk" | "agent_thought_chunk";
  messageId: string | undefined;
  /** None is empty. */
  texts: string[];
}

/** The run at the beginning of some lines. */
interface RunRead {
  /** Null where the first line is something else. */
  run: TextRun | null;
  /** Content of the first line that is not of the run, as JSON; undefined where there is none, or where it is not JSON. */
  rest: unknown;
}

/**
 * Reads the lines from one on that are nothing but texts of this session. Nearly all that an agent sends is read here, and
 * with no object of a class: each session has its own classes, which the engine's code for the session before does not
 * fit, and to optimize that code again for every session costs more than to run it.
 */
export function readRun(lines: readonly string[], from: number, session: string): RunRead {
  let run: TextRun | null = null;
  for (let at = from; at < lines.length; at++) {
    const data = parseJsonLine(lines[at]!);
    const update = plainUpdate(data, session);
    if (update === null) return { run, rest: data };
    const kind = update["sessionUpdate"] as TextRun["kind"];
    const messageId = textOf(update["messageId"]);
    const { text } = update["content"] as { text: string };
    if (run === null) run = { kind, messageId, texts: [text] };
    else if (run.kind === kind && run.messageId === messageId) run.texts.push(text);
    else return { run, rest: data };
  }
  return { run, rest: undefined };
}

/** The update in a notification that has a text of the model and nothing else to read; null for any other message. */
function plainUpdate(data: unknown, session: string): JsonFields | null {
  const message = fieldsOf(data);
  if (message === null || message["jsonrpc"] !== "2.0" || message["method"] !== "session/update") return null;
  const params = fieldsOf(message["params"]);
  if (params === null || params["sessionId"] !== session || message["id"] !== undefined) return null;
  const update = fieldsOf(params["update"]);
  if (update === null || update["_meta"] !== undefined) return null;
  const kind = update["sessionUpdate"];
  if (kind !== "agent_message_chunk" && kind !== "agent_thought_chunk") return null;
  const content = fieldsOf(update["content"]);
  if (content === null || content["type"] !== "text") return null;
  const text = content["text"];
  return typeof text === "string" && text !== "" ? update : null;
}
