import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import { data, testTurns } from "./model-turns.ts";

testTurns({
  Adapter: AnthropicApi,
  mode: {
    type: "api",
    enabled: true,
    model: "m",
    endpoint: "http://model.example/v1",
    api_key_env_var: "KEY",
    max_tokens: 100,
    pricing: { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" },
  },
  say: (text) => data({ type: "content_block_delta", delta: { type: "text_delta", text } }),
  end: data({ type: "message_delta", delta: { stop_reason: "end_turn" } }) + data({ type: "message_stop" }),
});
