import { expect, test } from "vitest";
import { promptBlocks } from "../../plugins/acp/prompt-blocks.ts";
import { attachments, notes, pdf, text } from "./seen-files.ts";

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
