import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { expect, test } from "vitest";
import ClaudeCode from "../../plugins/claude-code/mod.ts";
import { content, seen, source } from "./seen-image.ts";

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
