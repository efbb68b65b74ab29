import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { data } from "./model-turns.ts";
import { attachments, base64, bytes, notes, pdf, picture, text, unread } from "./seen-files.ts";
import { bodyOf } from "./seen-image.ts";

const mode = { enabled: true, model: "m", endpoint: "http://model.example/v1" };

const ask = (content: AttachmentPart[]) =>
  runAdapter(OpenAiCompatible, {}, {
    turns: [{ content }],
    attachments,
    config: { access_modes: [{ type: "local", ...mode }] },
    responses: { "http://model.example/v1/chat/completions": { body: data({ choices: [] }) } },
  });

test("an OpenAI-compatible server gets a PDF as a file and a text under its name", async () => {
  const { calls } = await ask([pdf, text, picture]);
  expect(bodyOf(calls).messages[0]!.content).toEqual([
    { type: "file", file: { filename: "plan.pdf", file_data: `data:application/pdf;base64,${base64("%PDF-1.7")}` } },
    { type: "text", text: `<file name="notes.md">\n${notes}\n</file>` },
    { type: "image_url", image_url: { url: `data:image/png;base64,${tinyPngBase64}` } },
    { type: "text", text: "Say hello." },
  ]);
});

test("a file that no model reads is refused, and nothing is asked", async () => {
  const { error, calls } = await ask([bytes]);
  expect(error).toMatchObject(unread);
  expect(calls.some((one) => "url" in one)).toBe(false);
});
