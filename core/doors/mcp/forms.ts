import { inputRequired } from "@modelcontextprotocol/server";
import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { AskedRequest } from "../../sessions/host/asked-requests.ts";
import { cleanLines, oneLine } from "../../sessions/host/event-sentence.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";

/** Answer of a person to a form. */
export interface FormAnswer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, unknown> | undefined;
}

/** Makes the form by which a client asks its person. */
export function formOf(request: AskedRequest): ReturnType<typeof inputRequired.elicit> {
  const { text, choices } = waitingOf(request);
  const titles = request.type === "permission_request" ? request.options.map(({ label }) => label) : choices;
  const closed = choices.length > 0 ? { enum: choices, enumNames: titles.map(oneLine) } : {};
  return inputRequired.elicit({
    message: cleanLines(text),
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title: "Answer", ...closed } },
      required: ["answer"],
    },
  });
}

/** Returns a request as a list of those that wait shows it. */
export function waitingOf(request: AskedRequest): WaitingRequest {
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

/**
 * Answers a request with a form. Anything but one of the choices is a no: the client must not answer in its person's place.
 * Returns whether the form denied it.
 */
export async function takeForm(handle: SessionHandle, requestId: string, form: FormAnswer): Promise<boolean> {
  const said = form.action === "accept" ? form.content?.["answer"] : undefined;
  const isTaken = typeof said === "string" && await handle.answer(requestId, said);
  return !isTaken && await handle.answer(requestId, null);
}
