import {
  type Answer,
  argumentPieces,
  type Asked,
  type Failure,
  field,
  frame,
  list,
  type ModelCall,
  type OfferedTool,
  planResetS,
  type Protocol,
  retryAfterS,
  schemaOf,
  sentences,
  statuses,
  wholeText,
} from "./exchange.ts";

const usageOf = ({ cached = 0 }: Asked) => ({
  input_tokens: 100,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
});

/** OpenAI's Responses API. */
export const openaiResponses: Protocol = {
  takes: (path) => path.endsWith("/responses"),

  read(body) {
    const types = list(field(body, "input")).map((item) => String(field(item, "type")));
    // A helper has its order from the agent that started it.
    const said = list(field(body, "input")).filter((item) =>
      field(item, "role") === "user" || field(item, "type") === "agent_message"
    );
    return {
      begins: JSON.stringify(said),
      calls: list(field(body, "input")).flatMap((item) =>
        /_call$/.test(String(field(item, "type"))) ? [String(field(item, "name"))] : []
      ),
      model: String(field(body, "model")),
      streams: field(body, "stream") === true,
      tools: list(field(body, "tools")).flatMap((tool) => toolsOf(tool)),
      answered: types.findLastIndex((type) => type.endsWith("_output")) > types.lastIndexOf("message"),
      mayThink: true,
    };
  },

  async *stream(answer, asked) {
    let sequence_number = 0;
    const send = (type: string, data: Record<string, unknown>) =>
      frame({ type, sequence_number: sequence_number++, ...data }, type);
    const response = { id: "resp_mock", object: "response", created_at: 1, model: asked.model, status: "in_progress" };
    const output: unknown[] = [];
    yield send("response.created", { response: { ...response, output } });
    if (answer.thinking.length > 0) yield* reasoning(answer, { send, output });
    yield* message(answer, { send, output });
    for (const call of answer.calls) yield* toolCall(call, { send, output });
    yield send("response.completed", { response: { ...response, status: "completed", output, usage: usageOf(asked) } });
  },

  async whole(answer, asked) {
    const output = [textItem(await wholeText(answer)), ...answer.calls.map((call) => callItem(call))];
    const usage = usageOf(asked);
    return {
      id: "resp_mock",
      object: "response",
      created_at: 1,
      model: asked.model,
      status: "completed",
      output,
      usage,
    };
  },

  fail(failure) {
    const headers = failure === "rate_limit_wait" ? { "retry-after": String(retryAfterS) } : {};
    const { type, code } = words[failure];
    const reset = { plan_type: "plus", resets_at: Math.floor(Date.now() / 1000) + planResetS };
    const error = { message: sentences[failure], type, code, ...(failure === "plan_limit" ? reset : {}) };
    return { status: statuses[failure], headers, body: { error } };
  },
};

const words: Record<Failure, { type: string; code: string | null }> = {
  unauthorised: { type: "invalid_request_error", code: "invalid_api_key" },
  forbidden: { type: "invalid_request_error", code: null },
  rate_limit: { type: "requests", code: "rate_limit_exceeded" },
  rate_limit_wait: { type: "requests", code: "rate_limit_exceeded" },
  plan_limit: { type: "usage_limit_reached", code: null },
  server_error: { type: "server_error", code: null },
  context_overflow: { type: "invalid_request_error", code: "context_length_exceeded" },
};

function toolsOf(tool: unknown, namespace?: string): OfferedTool[] {
  const name = String(field(tool, "name"));
  const inside = namespace === undefined ? {} : { namespace };
  switch (field(tool, "type")) {
    case "namespace":
      return list(field(tool, "tools")).flatMap((one) => toolsOf(one, name));
    case "function":
      return [{ name, schema: schemaOf(field(tool, "parameters")), ...inside }];
    case "custom":
      return [{ name, schema: null, ...inside }];
    default:
      return [];
  }
}

interface Writing {
  send(type: string, data: Record<string, unknown>): string;
  /** Items that are done. */
  output: unknown[];
}

async function* reasoning({ thinking }: Answer, { send, output }: Writing): AsyncGenerator<string> {
  const place = { item_id: "rs_mock", output_index: output.length };
  const summed = { ...place, summary_index: 0 };
  const item = { type: "reasoning", id: "rs_mock", summary: [] as unknown[] };
  yield send("response.output_item.added", { output_index: output.length, item });
  yield send("response.reasoning_summary_part.added", { ...summed, part: { type: "summary_text", text: "" } });
  for (const delta of thinking) yield send("response.reasoning_summary_text.delta", { ...summed, delta });
  const text = thinking.join("");
  const part = { type: "summary_text", text };
  yield send("response.reasoning_summary_text.done", { ...summed, text });
  yield send("response.reasoning_summary_part.done", { ...summed, part });
  const done = { ...item, summary: [part], encrypted_content: "bW9jaw==" };
  yield send("response.output_item.done", { output_index: output.length, item: done });
  output.push(done);
}

async function* message(answer: Answer, { send, output }: Writing): AsyncGenerator<string> {
  const place = { item_id: "msg_mock", output_index: output.length, content_index: 0 };
  const begun = { ...textItem(""), status: "in_progress", content: [] };
  yield send("response.output_item.added", { output_index: output.length, item: begun });
  let text = "";
  for await (const delta of answer.text) {
    text += delta;
    yield send("response.output_text.delta", { ...place, delta });
  }
  yield send("response.output_text.done", { ...place, text });
  const item = textItem(text);
  yield send("response.output_item.done", { output_index: output.length, item });
  output.push(item);
}

async function* toolCall(call: ModelCall, { send, output }: Writing): AsyncGenerator<string> {
  const place = { item_id: call.id, output_index: output.length };
  const item = callItem(call);
  const kind = item["type"] === "custom_tool_call" ? "custom_tool_call_input" : "function_call_arguments";
  const field = kind === "custom_tool_call_input" ? "input" : "arguments";
  yield send("response.output_item.added", { output_index: output.length, item: { ...item, [field]: "" } });
  for (const delta of argumentPieces(call)) yield send(`response.${kind}.delta`, { ...place, delta });
  yield send(`response.${kind}.done`, { ...place, [field]: item[field] });
  yield send("response.output_item.done", { output_index: output.length, item });
  output.push(item);
}

function textItem(text: string): Record<string, unknown> {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: "msg_mock", role: "assistant", status: "completed", content };
}

function callItem(call: ModelCall): Record<string, unknown> {
  const { id, tool: { name, namespace, schema } } = call;
  const named = { id, call_id: id, name, status: "completed", ...(namespace === undefined ? {} : { namespace }) };
  const text = argumentPieces(call).join("");
  return schema === null
    ? { type: "custom_tool_call", ...named, input: text }
    : { type: "function_call", ...named, arguments: text };
}
