import {
  type Answer,
  argumentPieces,
  type Asked,
  type Failure,
  field,
  frame,
  list,
  type Protocol,
  retryAfterS,
  schemaOf,
  sentences,
  statuses,
  wholeText,
} from "./exchange.ts";

const usageOf = ({ cached = 0 }: Asked) => ({
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: cached },
});

/** OpenAI's Chat Completions API, as many servers speak it. */
export const openaiChat: Protocol = {
  takes: (path) => path.endsWith("/chat/completions"),

  read(body) {
    const messages = list(field(body, "messages"));
    const roles = messages.map((message) => field(message, "role"));
    return {
      begins: JSON.stringify(messages.filter((message) => field(message, "role") === "user")),
      calls: messages.flatMap((message) =>
        list(field(message, "tool_calls")).map((call) => String(field(field(call, "function"), "name")))
      ),
      model: String(field(body, "model")),
      streams: field(body, "stream") === true,
      tools: list(field(body, "tools")).map((tool) => ({
        name: String(field(field(tool, "function"), "name")),
        schema: schemaOf(field(field(tool, "function"), "parameters")),
      })),
      answered: roles.lastIndexOf("tool") > roles.lastIndexOf("assistant"),
      mayThink: true,
    };
  },

  async *stream(answer, asked) {
    const chunk = (delta: unknown, finish_reason: string | null = null) =>
      frame({ ...opening(asked, "chat.completion.chunk"), choices: [{ index: 0, delta, finish_reason }] });
    yield chunk({ role: "assistant", content: "" });
    for (const reasoning_content of answer.thinking) yield chunk({ reasoning_content });
    for await (const content of answer.text) yield chunk({ content });
    for (const [index, call] of answer.calls.entries()) {
      const named = { index, id: call.id, type: "function", function: { name: call.tool.name, arguments: "" } };
      yield chunk({ tool_calls: [named] });
      for (const piece of argumentPieces(call)) {
        yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
      }
    }
    yield chunk({}, finishOf(answer));
    yield frame({ ...opening(asked, "chat.completion.chunk"), choices: [], usage: usageOf(asked) });
    yield "data: [DONE]\n\n";
  },

  async whole(answer, asked) {
    const tool_calls = answer.calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.tool.name, arguments: argumentPieces(call).join("") },
    }));
    const content = await wholeText(answer);
    const message = { role: "assistant", content, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    const choices = [{ index: 0, message, finish_reason: finishOf(answer) }];
    return { ...opening(asked, "chat.completion"), choices, usage: usageOf(asked) };
  },

  fail(failure) {
    const { type, code } = words[failure];
    const headers = failure === "rate_limit_wait" ? { "retry-after": String(retryAfterS) } : {};
    return { status: statuses[failure], headers, body: { error: { message: sentences[failure], type, code } } };
  },
};

const words: Record<Failure, { type: string; code: string | null }> = {
  unauthorised: { type: "invalid_request_error", code: "invalid_api_key" },
  forbidden: { type: "invalid_request_error", code: null },
  rate_limit: { type: "requests", code: "rate_limit_exceeded" },
  rate_limit_wait: { type: "requests", code: "rate_limit_exceeded" },
  plan_limit: { type: "insufficient_quota", code: "insufficient_quota" },
  server_error: { type: "server_error", code: null },
  context_overflow: { type: "invalid_request_error", code: "context_length_exceeded" },
};

function opening({ model }: Asked, object: string): Record<string, unknown> {
  return { id: "chatcmpl-mock", object, created: 1, model };
}

function finishOf({ calls }: Answer): string {
  return calls.length > 0 ? "tool_calls" : "stop";
}
