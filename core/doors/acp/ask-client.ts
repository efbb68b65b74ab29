import { type AgentContext, RequestError, type RequestPermissionRequest } from "@agentclientprotocol/sdk";
import type { PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";
import { fieldsOrNone } from "../../../plugin-sdk/json-fields.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { AskedRequest } from "../../sessions/host/asked-requests.ts";
import { cleanLines, oneLine } from "../../sessions/host/event-sentence.ts";
import { questionText, toolCallId } from "./updates.ts";

/** The client to ask, and the session it is about. */
interface AskDeps {
  client: AgentContext;
  acpSessionId: string;
  sessionId: string;
  forms: boolean;
}

/** The answer of the person at the client; `denied`: why it is none; `"prompt"`: only a prompt can give it. */
export type ClientAnswer = { choice: string } | { denied: string } | "prompt";

/** Puts an agent's request to the person at the client, in words that cannot pass for anything else. Never rejects. */
export async function askClient(request: AskedRequest, deps: AskDeps, signal: AbortSignal): Promise<ClientAnswer> {
  try {
    if (request.type === "permission_request") return await askPermission(request, deps, signal);
    if (deps.forms) return await askForm(request, deps, signal);
    return request.options?.length ? await askChoice(request, deps, signal) : "prompt";
  } catch (thrown) {
    const what = thrown instanceof RequestError
      ? `with an error: ${oneLine(thrown.message)}`
      : "nothing that is an answer";
    return { denied: `the client answered ${what}` };
  }
}

async function askPermission(
  request: PermissionRequestEvent,
  { client, acpSessionId, sessionId }: AskDeps,
  signal: AbortSignal,
): Promise<ClientAnswer> {
  const chosen = await choose(client, {
    sessionId: acpSessionId,
    toolCall: {
      toolCallId: toolCallId(sessionId, request.call_id ?? request.request_id),
      title: oneLine(request.title),
      name: oneLine(request.tool),
      status: "pending",
      ...omitUndefined({ kind: request.kind, rawInput: request.input }),
    },
    // The protocol has no other kinds. A client that denies by itself must never take an unknown one for a no.
    options: request.options.map(({ id, label, kind }) => ({
      optionId: id,
      name: oneLine(label),
      kind: kind === "other" ? "allow_once" : kind,
    })),
  }, signal);
  if ("denied" in chosen || request.options.some(({ id }) => id === chosen.choice)) return chosen;
  return { denied: `it has no choice "${oneLine(chosen.choice).slice(0, 100)}"` };
}

/** Returns the option that the client names. Whatever else it says, there is no other answer: that is a denial. */
async function choose(
  client: AgentContext,
  params: RequestPermissionRequest,
  signal: AbortSignal,
): Promise<{ choice: string } | { denied: string }> {
  const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
  const answer = fieldsOrNone(await client.request("session/request_permission", params, options));
  const { outcome, optionId } = fieldsOrNone(answer["outcome"]);
  if (outcome === "selected" && typeof optionId === "string") return { choice: optionId };
  return { denied: outcome === "cancelled" ? "the client cancelled it" : "the client's answer cannot be understood" };
}

/** A question with choices, to a client that has no forms: each choice is an option. */
async function askChoice(
  request: QuestionEvent,
  { client, acpSessionId, sessionId }: AskDeps,
  signal: AbortSignal,
): Promise<ClientAnswer> {
  const options = request.options ?? [];
  const chosen = await choose(client, {
    sessionId: acpSessionId,
    toolCall: {
      toolCallId: toolCallId(sessionId, request.request_id),
      title: oneLine(request.question),
      kind: "other",
      status: "pending",
    },
    options: options.map((option, index) => ({ optionId: String(index), name: oneLine(option), kind: "allow_once" })),
  }, signal);
  if ("denied" in chosen) return chosen;
  const choice = options[Number(chosen.choice)];
  return choice === undefined ? "prompt" : { choice };
}

async function askForm(
  request: QuestionEvent,
  { client, acpSessionId }: AskDeps,
  signal: AbortSignal,
): Promise<ClientAnswer> {
  const { options = [] } = request;
  const answer = await client.request("elicitation/create", {
    mode: "form",
    sessionId: acpSessionId,
    message: cleanLines(questionText(request)),
    requestedSchema: {
      type: "object",
      properties: {
        answer: { type: "string", title: "Answer", ...(options.length > 0 ? { enum: options } : {}) },
      },
      required: ["answer"],
    },
  }, { cancellationSignal: signal, stopWaitingOnCancel: true });
  const said = answer.action === "accept" && "content" in answer ? readAnswer(answer.content) : undefined;
  return typeof said === "string" ? { choice: said } : { denied: "the form was not filled in" };
}

function readAnswer(content: unknown): unknown {
  return typeof content === "object" && content !== null && "answer" in content ? content.answer : undefined;
}
