import { fieldsOrNone } from "../../../../plugin-sdk/json-fields.ts";
import { type AnswerFacts, type MeteredProtocol, sumOf, takeFigures, tokensIn } from "./protocol.ts";

/** Anthropic's Messages API. A stream tells its input in `message_start` and its output in `message_delta`. */
export const anthropicMessages: MeteredProtocol = {
  name: "anthropic_messages",
  takes: (path) => /\/messages$/i.test(path),
  telling: 'kens"',
  wanted: ["usage", "model", "message.usage", "message.model"],
  read(facts, path, value) {
    readUsage(facts, value, { isFinal: path === "usage" });
  },
  refusal: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
};

/** Takes the figures of an event: a `message_delta` tells the output, and sometimes the input again. */
function readUsage(facts: AnswerFacts, value: unknown, { isFinal }: { isFinal: boolean }): void {
  const told = fieldsOrNone(value);
  const tellsInput = (told["input_tokens"] ?? null) !== null;
  takeFigures(facts, {
    ...(tellsInput
      ? {
        tokens_in: sumOf(facts, told, ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]),
        tokens_cached: tokensIn(told["cache_read_input_tokens"] ?? 0),
      }
      : {}),
    tokens_out: tokensIn(told["output_tokens"]),
  }, { isFinal });
}
