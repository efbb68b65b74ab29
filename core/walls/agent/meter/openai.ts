import { fieldsOrNone } from "../../../../plugin-sdk/json-fields.ts";
import { type MeteredProtocol, takeFigures, tokensIn } from "./protocol.ts";

/** OpenAI's Responses API. A stream tells its figures in its last event. */
export const openaiResponses: MeteredProtocol = {
  name: "openai_responses",
  takes: (path) => /\/responses(?:\/compact)?$/i.test(path),
  telling: 'kens"',
  wanted: ["usage", "model", "response.usage", "response.model"],
  read: readerOf("input_tokens", "output_tokens"),
  refusal: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: "budget_exceeded" } }),
};

/** OpenAI's Chat Completions API. A stream tells its figures in a last chunk, where the request asks for them. */
export const openaiChat: MeteredProtocol = {
  ...openaiResponses,
  name: "openai_chat",
  takes: (path) => /\/chat\/completions$/i.test(path),
  wanted: ["usage", "model"],
  read: readerOf("prompt_tokens", "completion_tokens"),
};

/** Makes what takes the figures of these names. Cached input is a part of the input. */
function readerOf(input: string, output: string): MeteredProtocol["read"] {
  return (facts, _path, value) => {
    const told = fieldsOrNone(value);
    const { cached_tokens } = fieldsOrNone(told[`${input}_details`]);
    const figures = [told[input], told[output], cached_tokens ?? 0].map(tokensIn);
    const [tokens_in = null, tokens_out = null, tokens_cached = null] = figures;
    takeFigures(facts, { tokens_in, tokens_out, tokens_cached }, { isFinal: true });
  };
}
