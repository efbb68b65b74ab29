import {
  type AdapterContext,
  type ApiAccess,
  BulkheadError,
  type ChatMessage,
  errorDataOf,
  type FetchResponse,
  type SessionRequest,
} from "bulkhead/plugin-sdk";

/** Limits of an answer. */
interface AnswerLimits {
  maxTokens: number;
  thinkingTokens: number | null;
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
  const { maxTokens, thinkingTokens } = limits;
  const { system_prompt, model = mode.model, output_schema: schema } = request;
  const max_tokens = Math.min(maxTokens, mode.max_tokens, request.budget?.tokens ?? Infinity);
  const thinks = thinkingTokens !== null && thinkingTokens < max_tokens;
  return send(ctx, mode, {
    path: "/messages",
    body: JSON.stringify({
      model,
      max_tokens,
      stream: true,
      system: system_prompt,
      messages,
      output_config: schema && { format: { type: "json_schema", schema } },
      thinking: thinks ? { type: "enabled", budget_tokens: thinkingTokens } : undefined,
    }),
  });
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
