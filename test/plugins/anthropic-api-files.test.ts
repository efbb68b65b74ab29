import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { data } from "./model-turns.ts";
import { attachments, base64, bytes, notes, pdf, picture, text, unread } from "./seen-files.ts";
import { bodyOf } from "./seen-image.ts";

const pricing = { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" };
const mode = { enabled: true, model: "m", endpoint: "http://model.example/v1" };
const api = { type: "api" as const, ...mode, api_key_env_var: "KEY", max_tokens: 100, pricing };

const ask = (content: AttachmentPart[]) =>
  runAdapter(AnthropicApi, {}, {
    turns: [{ content }],
    attachments,
    secrets: ["KEY"],
    config: { access_modes: [api] },
    responses: { "http://model.example/v1/messages": { body: data({ type: "message_stop" }) } },
  });

test("the Anthropic API gets a PDF and a text as documents, and a picture as an image", async () => {
  const { calls } = await ask([pdf, text, picture]);
  expect(bodyOf(calls).messages[0]!.content).toEqual([
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: base64("%PDF-1.7") },
      title: "plan.pdf",
    },
    { type: "document", source: { type: "text", media_type: "text/plain", data: notes }, title: "notes.md" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: tinyPngBase64 } },
    { type: "text", text: "Say hello." },
  ]);
});

test("a file that no model reads is refused, and nothing is asked", async () => {
  const { error, calls } = await ask([bytes]);
  expect(error).toMatchObject(unread);
  expect(calls.some((one) => "url" in one)).toBe(false);
});
