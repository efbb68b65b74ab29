import { fieldsOrNone } from "../../../../plugin-sdk/json-fields.ts";
import { readOpenaiUsage } from "./openai-usage.ts";
import { type MeteredProtocol, modelIn } from "./protocol.ts";

/** OpenAI's Responses API. A stream tells its figures in its last event. */
export const openaiResponses: MeteredProtocol = {
  name: "openai_responses",
  takes: (path) => /\/responses(?:\/compact)?$/i.test(path),
  telling: 'kens"',
  wanted: ["usage", "model", "response.usage", "response.model"],
  read(facts, path, value) {
    if (path.endsWith("model")) facts.model = modelIn(value) ?? facts.model;
    else if (value !== null) {
      const { input_tokens, output_tokens, input_tokens_details } = fieldsOrNone(value);
      const { cached_tokens } = fieldsOrNone(input_tokens_details);
      readOpenaiUsage(facts, { input: input_tokens, output: output_tokens, cached: cached_tokens });
    }
  },
  refusal: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: "budget_exceeded" } }),
};
