import {
  type Answer,
  argumentPieces,
  type Asked,
  type Failure,
  type FailureReply,
  field,
  frame,
  list,
  planResetS,
  type Protocol,
  retryAfterS,
  schemaOf,
  sentences,
  statuses,
  wholeText,
} from "./exchange.ts";

const usageOf = ({ cached = 0 }: Asked) => ({
  input_tokens: 100 - cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cached,
  output_tokens: 20,
});

/** Anthropic's Messages API. */
export const anthropicMessages: Protocol = {
  takes: (path) => path.endsWith("/messages"),

  read(body) {
    const messages = list(field(body, "messages"));
    const last = messages.at(-1);
    const thinking = field(field(body, "thinking"), "type");
    return {
      model: String(field(body, "model")),
      streams: field(body, "stream") === true,
      tools: list(field(body, "tools")).flatMap((tool) =>
        field(tool, "input_schema") === undefined
          ? []
          : [{ name: String(field(tool, "name")), schema: schemaOf(field(tool, "input_schema")) }]
      ),
      answered: list(field(last, "content")).some((part) => field(part, "type") === "tool_result"),
      begins: JSON.stringify(messages[0]),
      calls: messages.flatMap((message) => list(field(message, "content")))
        .flatMap((part) => field(part, "type") === "tool_use" ? [String(field(part, "name"))] : []),
      ends: JSON.stringify(last),
      mayThink: thinking !== undefined && thinking !== "disabled",
    };
  },

  async *stream(answer, asked) {
    const send = (data: { type: string; [key: string]: unknown }) => frame(data, data.type);
    let index = 0;
    yield send({ type: "message_start", message: opening(asked) });
    if (answer.thinking.length > 0 && asked.mayThink) {
      yield send({
        type: "content_block_start",
        index,
        content_block: { type: "thinking", thinking: "", signature: "" },
      });
      for (const thinking of answer.thinking) {
        yield send({ type: "content_block_delta", index, delta: { type: "thinking_delta", thinking } });
      }
      yield send({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: "bW9jaw==" } });
      yield send({ type: "content_block_stop", index: index++ });
    }
    yield send({ type: "content_block_start", index, content_block: { type: "text", text: "" } });
    for await (const text of answer.text) {
      yield send({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
    }
    yield send({ type: "content_block_stop", index: index++ });
    for (const call of answer.calls) {
      const content_block = { type: "tool_use", id: call.id, name: call.tool.name, input: {} };
      yield send({ type: "content_block_start", index, content_block });
      for (const partial_json of argumentPieces(call)) {
        yield send({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } });
      }
      yield send({ type: "content_block_stop", index: index++ });
    }
    const delta = { stop_reason: stopReason(answer), stop_sequence: null };
    yield send({ type: "message_delta", delta, usage: { output_tokens: usageOf(asked).output_tokens } });
    yield send({ type: "message_stop" });
  },

  async whole(answer, asked) {
    const text = await wholeText(answer);
    const calls = answer.calls.map(({ id, tool, input }) => ({ type: "tool_use", id, name: tool.name, input }));
    return {
      ...opening(asked),
      content: [{ type: "text", text }, ...calls],
      stop_reason: stopReason(answer),
      usage: usageOf(asked),
    };
  },

  fail(failure) {
    const message = sentences[failure];
    const body = { type: "error", error: { type: kinds[failure], message }, request_id: "req_mock" };
    return { status: statuses[failure], headers: headersOf(failure), body };
  },
};

const kinds: Record<Failure, string> = {
  unauthorised: "authentication_error",
  forbidden: "permission_error",
  rate_limit: "rate_limit_error",
  rate_limit_wait: "rate_limit_error",
  plan_limit: "rate_limit_error",
  server_error: "api_error",
  context_overflow: "invalid_request_error",
};

function opening(asked: Asked): Record<string, unknown> {
  const { model } = asked;
  const first = { ...usageOf(asked), output_tokens: 1 };
  const message = { id: `msg_${crypto.randomUUID()}`, type: "message", role: "assistant", model, content: [] };
  return { ...message, stop_reason: null, stop_sequence: null, usage: first };
}

function stopReason({ calls }: Answer): string {
  return calls.length > 0 ? "tool_use" : "end_turn";
}

function headersOf(failure: Failure): NonNullable<FailureReply["headers"]> {
  if (failure === "rate_limit_wait") return { "retry-after": String(retryAfterS) };
  if (failure !== "plan_limit") return {};
  const reset = String(Math.floor(Date.now() / 1000) + planResetS);
  const unified = {
    status: "rejected",
    reset,
    "representative-claim": "five_hour",
    "5h-status": "rejected",
    "5h-reset": reset,
    "5h-utilization": "1.0",
    "overage-status": "rejected",
  };
  const named = Object.entries(unified).map(([name, value]) => [`anthropic-ratelimit-unified-${name}`, value]);
  return { "retry-after": String(planResetS), ...Object.fromEntries(named) };
}
