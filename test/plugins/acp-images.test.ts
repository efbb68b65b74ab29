import { expect, test } from "vitest";
import { promptBlocks } from "../../plugins/acp/prompt-blocks.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { content } from "./seen-image.ts";

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
