import { Buffer } from "node:buffer";
import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import { attachedText } from "../../plugin-sdk/attached-parts.ts";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import { promptBlocks } from "../../plugins/acp/prompt-blocks.ts";
import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { data } from "./model-turns.ts";
import { bodyOf } from "./seen-image.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const notes = "Größe: 5 %, “好” 🙂\n";

function file(name: string, mime_type: string): AttachmentPart & { type: "file" } {
  const digit = { "application/pdf": "b", "text/plain": "c", "image/png": "d" }[mime_type] ?? "e";
  return { type: "file", sha256: digit.repeat(64), name, mime_type };
}

const pdf = file("plan.pdf", "application/pdf");
const text = file("notes.md", "text/plain");
const picture = file("shot.png", "image/png");
const bytes = file("tool.bin", "application/octet-stream");
const attachments = {
  [pdf.sha256]: base64("%PDF-1.7"),
  [text.sha256]: base64(notes),
  [picture.sha256]: tinyPngBase64,
  [bytes.sha256]: base64("\u0000\u0001"),
};

const pricing = { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" };
const mode = { enabled: true, model: "m", endpoint: "http://model.example/v1" };
const api = { type: "api" as const, ...mode, api_key_env_var: "KEY", max_tokens: 100, pricing };

const models = {
  anthropic: (content: AttachmentPart[]) =>
    runAdapter(AnthropicApi, {}, {
      turns: [{ content }],
      attachments,
      secrets: ["KEY"],
      config: { access_modes: [api] },
      responses: { "http://model.example/v1/messages": { body: data({ type: "message_stop" }) } },
    }),
  compatible: (content: AttachmentPart[]) =>
    runAdapter(OpenAiCompatible, {}, {
      turns: [{ content }],
      attachments,
      config: { access_modes: [{ type: "local", ...mode }] },
      responses: { "http://model.example/v1/chat/completions": { body: data({ choices: [] }) } },
    }),
};

test("the Anthropic API gets a PDF and a text as documents, and a picture as an image", async () => {
  const { calls } = await models.anthropic([pdf, text, picture]);
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

test("an OpenAI-compatible server gets a PDF as a file and a text under its name", async () => {
  const { calls } = await models.compatible([pdf, text, picture]);
  expect(bodyOf(calls).messages[0]!.content).toEqual([
    { type: "file", file: { filename: "plan.pdf", file_data: `data:application/pdf;base64,${base64("%PDF-1.7")}` } },
    { type: "text", text: `<file name="notes.md">\n${notes}\n</file>` },
    { type: "image_url", image_url: { url: `data:image/png;base64,${tinyPngBase64}` } },
    { type: "text", text: "Say hello." },
  ]);
});

test.each(Object.entries(models))("a file that no model reads is refused, and nothing is asked: %s", async (_, run) => {
  const { error, calls } = await run([bytes]);
  expect(error).toMatchObject({
    code: "unsupported",
    message: 'Cannot give the model the file "tool.bin": it is application/octet-stream.',
  });
  expect(calls.some((one) => "url" in one)).toBe(false);
});

test("an ACP agent gets a text as an embedded resource if it takes any, and the paths of other files", async () => {
  const ctx = {
    attachments: {
      base64: (sha256: string) => Promise.resolve(attachments[sha256]!),
      path: (sha256: string) => Promise.resolve(`/temp/${sha256.slice(0, 1)}`),
    },
  };
  const blocks = (embeddedContext: boolean) =>
    promptBlocks({ text: "Look.", content: [pdf, text] }, {
      ctx,
      greeting: { capabilities: { promptCapabilities: { embeddedContext } } },
    });
  expect(await blocks(true)).toEqual([
    { type: "resource", resource: { uri: "attachment:///notes.md", mimeType: "text/plain", text: notes } },
    { type: "text", text: "Look." },
    { type: "text", text: "Attached file: /temp/b" },
  ]);
  expect(await blocks(false)).toEqual([
    { type: "text", text: "Look." },
    { type: "text", text: "Attached file: /temp/b" },
    { type: "text", text: "Attached file: /temp/c" },
  ]);
});

test("attachedText reads every length and every character, and nothing else", () => {
  for (const said of ["a", "ab", "abc", notes, `${"x".repeat(9_999)}€🙂`.repeat(9), "%41"]) {
    expect(attachedText({ part: text, base64: base64(said) })).toBe(said);
  }
  expect(attachedText({ part: text, base64: Buffer.from([0x61, 0xff]).toString("base64") })).toBeNull();
  expect(attachedText({ part: pdf, base64: base64("a") })).toBeNull();
});
