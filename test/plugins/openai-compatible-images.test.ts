import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { data } from "./model-turns.ts";
import { bodyOf, seen } from "./seen-image.ts";

test("an OpenAI-compatible server gets an image as a data URL before the text", async () => {
  const mode = { type: "local" as const, enabled: true, model: "m", endpoint: "http://model.example/v1" };
  const body = `${data({ choices: [{ delta: { content: "A pixel." } }] })}data: [DONE]\n\n`;
  const { calls } = await runAdapter(OpenAiCompatible, {}, {
    ...seen,
    config: { access_modes: [mode] },
    responses: { "http://model.example/v1/chat/completions": { body } },
  });
  expect(bodyOf(calls).messages[0]!.content).toEqual([
    { type: "image_url", image_url: { url: `data:image/png;base64,${tinyPngBase64}` } },
    { type: "text", text: "Say hello." },
  ]);
});
