import {
  type AdapterContext,
  type ApiAccess,
  type AttachedPart,
  attachedText,
  BulkheadError,
  type ChatMessage,
  type Effort,
  errorDataOf,
  type FetchResponse,
  nearestEffort,
  type SessionRequest,
  unreadFile,
} from "bulkhead/plugin-sdk";

/** Limits of an answer. */
interface AnswerLimits {
  maxTokens: number;
  thinkingTokens: number | null;
}

/** Models that came before the API's own word for effort: they have tokens to think with. */
const beforeEffort = /^claude-(instant|2|3|(opus|sonnet)-4-(0|1|2025)|(sonnet|haiku)-4-5)/;

/** Least tokens to think with that the API takes. */
const leastThinking = 1024;
const thinkingShares: Readonly<Record<Effort, number>> = {
  minimal: 0,
  low: 1 / 8,
  medium: 1 / 4,
  high: 1 / 2,
  max: 3 / 4,
};

/** Tokens to think with for an effort, of those of an answer; null: none. */
function thinkingFor(effort: Effort, maxTokens: number): number | null {
  const share = Math.floor(maxTokens * thinkingShares[effort]);
  return effort === "minimal" ? null : Math.max(leastThinking, share);
}

/**
 * Sends the messages of a session.
 * @throws {BulkheadError} `unavailable` where nothing answers, `permission_denied`, `env_missing`
 */
export function askForAnswer(
  ctx: AdapterContext,
  mode: ApiAccess,
  { request, messages, limits }: {
    request: SessionRequest;
    messages: readonly ChatMessage[];
    limits: AnswerLimits;
  },
): Promise<FetchResponse> {
  const { maxTokens } = limits;
  const { system_prompt, model = mode.model, output_schema: schema, effort } = request;
  const max_tokens = Math.min(maxTokens, mode.max_tokens, request.budget?.tokens ?? Infinity);
  const takesEffort = effort !== undefined && !beforeEffort.test(model);
  const thinkingTokens = effort === undefined || takesEffort ? limits.thinkingTokens : thinkingFor(effort, max_tokens);
  const thinks = thinkingTokens !== null && thinkingTokens < max_tokens;
  return send(ctx, mode, {
    path: "/messages",
    body: JSON.stringify({
      model,
      max_tokens,
      stream: true,
      system: system_prompt,
      messages: messages.map(asSent),
      output_config: schema || takesEffort
        ? {
          format: schema && { type: "json_schema", schema },
          effort: takesEffort ? nearestEffort(effort, ["low", "medium", "high", "max"]) : undefined,
        }
        : undefined,
      thinking: thinks ? { type: "enabled", budget_tokens: thinkingTokens } : undefined,
    }),
  });
}

/** The text comes last: what it says is about the images and files. */
function asSent({ role, content, attached = [] }: ChatMessage): object {
  if (attached.length === 0) return { role, content };
  return { role, content: [...attached.map(asBlock), ...(content === "" ? [] : [{ type: "text", text: content }])] };
}

/** @throws {BulkheadError} `unsupported` for a file that the model does not read */
function asBlock(one: AttachedPart): object {
  const { part, base64 } = one;
  const { mime_type: media_type } = part;
  const source = { type: "base64", media_type, data: base64 };
  if (media_type.startsWith("image/")) return { type: "image", source };
  const title = part.type === "file" ? { title: part.name } : {};
  if (media_type === "application/pdf") return { type: "document", source, ...title };
  const text = attachedText(one);
  if (text === null) throw unreadFile(one);
  return { type: "document", source: { type: "text", media_type, data: text }, ...title };
}

/**
 * Asks for the list of models, which costs nothing.
 * @throws {BulkheadError} as {@link askForAnswer}
 */
export function askForModels(ctx: AdapterContext, mode: ApiAccess): Promise<FetchResponse> {
  return send(ctx, mode, { path: "/models" });
}

async function send(
  ctx: AdapterContext,
  { endpoint = "", api_key_env_var = "" }: ApiAccess,
  { path, body }: { path: string; body?: string },
): Promise<FetchResponse> {
  const headers = {
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
    "x-api-key": await ctx.secrets.use(api_key_env_var),
  };
  try {
    return await ctx.fetch(`${endpoint}${path}`, body === undefined ? { headers } : { method: "POST", headers, body });
  } catch (error) {
    const data = errorDataOf(error);
    if (ctx.signal.aborted || data?.code !== "network_error") throw error;
    throw new BulkheadError("unavailable", data.message, { cause: error });
  }
}
