import {
  type AdapterContext,
  type AttachedPart,
  attachedText,
  BulkheadError,
  type ChatMessage,
  errorDataOf,
  type FetchResponse,
  type SessionRequest,
  unreadFile,
} from "bulkhead/plugin-sdk";
import type { Access } from "./access.ts";

/**
 * Sends the messages of a session, after at most one of the system.
 * @throws {BulkheadError} `unavailable` where nothing answers, `permission_denied`, `env_missing`
 */
export function askForAnswer(
  ctx: AdapterContext,
  access: Access,
  { request, messages }: { request: SessionRequest; messages: readonly ChatMessage[] },
): Promise<FetchResponse> {
  const { system_prompt, output_schema: schema, effort } = request;
  const system = system_prompt === undefined ? [] : [{ role: "system", content: system_prompt }];
  const limits = [access.maxTokens, request.budget?.tokens].filter((one) => typeof one === "number");
  // The API has renamed its limit; the servers that people run know the older name.
  const limit = access.type === "api" ? "max_completion_tokens" : "max_tokens";
  return send(ctx, access, {
    path: "/chat/completions",
    body: JSON.stringify({
      model: request.model ?? access.model,
      messages: [...system, ...messages.map(asSent)],
      stream: true,
      stream_options: { include_usage: true },
      response_format: schema && { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
      reasoning_effort: effort === "max" ? "xhigh" : effort,
      [limit]: limits.length === 0 ? undefined : Math.min(...limits),
    }),
  });
}

/** @throws {BulkheadError} `unsupported` for a file that no model of these servers reads */
function asPart(one: AttachedPart): object {
  const { part, base64 } = one;
  const url = `data:${part.mime_type};base64,${base64}`;
  if (part.mime_type.startsWith("image/")) return { type: "image_url", image_url: { url } };
  const filename = part.type === "file" ? part.name : "file";
  if (part.mime_type === "application/pdf") return { type: "file", file: { filename, file_data: url } };
  const text = attachedText(one);
  if (text === null) throw unreadFile(one);
  // Of files, the protocol knows PDF alone.
  return { type: "text", text: `<file name=${JSON.stringify(filename)}>\n${text}\n</file>` };
}

/** The text comes last: what it says is about the images and files. */
function asSent({ role, content, attached = [] }: ChatMessage): object {
  if (attached.length === 0) return { role, content };
  return { role, content: [...attached.map(asPart), ...(content === "" ? [] : [{ type: "text", text: content }])] };
}

/**
 * Asks for the list of models, which costs nothing.
 * @throws {BulkheadError} as {@link askForAnswer}
 */
export function askForModels(ctx: AdapterContext, access: Access): Promise<FetchResponse> {
  return send(ctx, access, { path: "/models" });
}

async function send(
  ctx: AdapterContext,
  { endpoint, secret }: Access,
  { path, body }: { path: string; body?: string },
): Promise<FetchResponse> {
  const key: Record<string, string> = secret === null
    ? {}
    : { authorization: `Bearer ${await ctx.secrets.use(secret)}` };
  const posted = { method: "POST", headers: { "content-type": "application/json", ...key } };
  try {
    return await ctx.fetch(`${endpoint}${path}`, body === undefined ? { headers: key } : { ...posted, body });
  } catch (error) {
    if (ctx.signal.aborted || errorDataOf(error)?.code !== "network_error") throw error;
    throw new BulkheadError("unavailable", errorDataOf(error)?.message ?? "The server cannot be reached.", {
      cause: error,
    });
  }
}
