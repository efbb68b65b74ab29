import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import ClaudeCode from "../../plugins/claude-code/mod.ts";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";
import { promptBlocks } from "../../plugins/acp/prompt-blocks.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { over, runServer, server } from "./codex-server.ts";
import { data } from "./model-turns.ts";

const sha256 = "a".repeat(64);
const content: AttachmentPart[] = [{ type: "image", sha256, mime_type: "image/png" }];
const seen = { turns: [{ content }], attachments: { [sha256]: tinyPngBase64 } };
const bodyOf = (calls: readonly object[]) => {
  const asked = calls.find((one) => "options" in one && "url" in one) as { options: { body: string } } | undefined;
  return JSON.parse(asked?.options.body ?? "null") as { messages: { content: unknown }[] };
};

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

const source = { type: "base64", media_type: "image/png", data: tinyPngBase64 };

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

test("Claude Code gets an image block before the text, and no empty text", async () => {
  const lines: { message?: { content: unknown } }[] = [];
  for (const prompt of ["Look.", ""]) {
    await runAdapter(ClaudeCode, {}, {
      ...seen,
      turns: [{ prompt, content }],
      processes: [{ answer: (line) => (lines.push(JSON.parse(line)), line.includes('"user"') ? [null] : []) }],
    });
  }
  const prompts = lines.flatMap(({ message }) => (message === undefined ? [] : [message.content]));
  expect(prompts).toEqual([[{ type: "image", source }, { type: "text", text: "Look." }], [{ type: "image", source }]]);
});

test("Codex gets the path of an image", async () => {
  const { sent } = await runServer(server((id) => [over(id)]), { options: seen });
  const [started] = sent.filter(({ method }) => method === "turn/start");
  expect(started).toMatchObject({
    params: { input: [{ type: "localImage", path: `/temp/${sha256.slice(0, 12)}` }, { type: "text" }] },
  });
});

test("an ACP agent gets an image block if it takes any, else the path", async () => {
  const ctx = {
    attachments: { base64: () => Promise.resolve(tinyPngBase64), path: () => Promise.resolve("/temp/a.png") },
  };
  const greeting = (image: boolean) => ({ capabilities: { promptCapabilities: { image } } });
  expect(await promptBlocks({ text: "Look.", content }, { ctx, greeting: greeting(true) })).toEqual([
    { type: "image", mimeType: "image/png", data: tinyPngBase64 },
    { type: "text", text: "Look." },
  ]);
  expect(await promptBlocks({ text: "Look.", content }, { ctx, greeting: greeting(false) })).toEqual([
    { type: "text", text: "Look." },
    { type: "text", text: "Attached image: /temp/a.png" },
  ]);
});
