import { fieldsOrNone } from "../../../../plugin-sdk/json-fields.ts";
import { openaiResponses } from "./openai-responses.ts";
import { readOpenaiUsage } from "./openai-usage.ts";
import { type MeteredProtocol, modelIn } from "./protocol.ts";

/** OpenAI's Chat Completions API. A stream tells its figures in a last chunk, where the request asks for them. */
export const openaiChat: MeteredProtocol = {
  name: "openai_chat",
  takes: (path) => /\/chat\/completions$/i.test(path),
  telling: 'kens"',
  wanted: ["usage", "model"],
  read(facts, path, value) {
    if (path === "model") facts.model = modelIn(value) ?? facts.model;
    else if (value !== null) {
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = fieldsOrNone(value);
      const { cached_tokens } = fieldsOrNone(prompt_tokens_details);
      readOpenaiUsage(facts, { input: prompt_tokens, output: completion_tokens, cached: cached_tokens });
    }
  },
  refusal: openaiResponses.refusal,
};
