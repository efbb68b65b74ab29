import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import { data } from "./model-turns.ts";
import { bodyOf, seen, source } from "./seen-image.ts";

test("the Anthropic API gets an image block before the text", async () => {
  const pricing = { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" };
  const { calls } = await runAdapter(AnthropicApi, {}, {
    ...seen,
    secrets: ["KEY"],
    config: {
      access_modes: [{
        type: "api",
        enabled: true,
        model: "m",
        endpoint: "http://model.example/v1",
        api_key_env_var: "KEY",
        max_tokens: 100,
        pricing,
      }],
    },
    responses: { "http://model.example/v1/messages": { body: data({ type: "message_stop" }) } },
  });
  expect(bodyOf(calls).messages[0]!.content).toEqual([{ type: "image", source }, { type: "text", text: "Say hello." }]);
});
