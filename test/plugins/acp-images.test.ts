import { expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { MemoryContext } from "../../plugin-sdk/testing/memory-context.ts";
import AcpAgent from "../../plugins/acp/mod.ts";
import { promptBlocks } from "../../plugins/acp/prompt-blocks.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";
import { content } from "./seen-image.ts";
import { agentOf } from "./wire-agent.ts";

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

/** Its client stops the turn while the turn's image is read. */
class StoppedContext extends MemoryContext {
  override readonly attachments = {
    base64: () => Promise.resolve(this.turns.stop()).then(() => tinyPngBase64),
    path: () => Promise.reject(new Error("Not wanted.")),
  };
}

test("a stop while an image is read sends no prompt", async () => {
  const url = "ws://agent.example/acp";
  const { wire, answer } = agentOf({
    capabilities: { promptCapabilities: { image: true } },
    prompt: ({ say, end }) => [say("Done."), end()],
  });
  const ctx = new StoppedContext({ turns: [{ content }, { prompt: "And more." }], sockets: { [url]: { answer } } });
  const adapter = new AcpAgent();
  adapter.initialize({ working_directory: "/work", access_modes: [], custom: { url } });
  const events: AdapterEvent[] = [];
  for await (const yielded of adapter.runSession({ prompt: "Look.", workdir: "/work" }, ctx)) {
    events.push(...[yielded].flat());
  }
  expect(wire.prompts).toEqual(["And more."]);
  expect(wire.methods).not.toContain("session/cancel");
  expect(events.filter(({ type }) => type === "completed" || type === "error")).toMatchObject([
    { code: "interrupted" },
    { type: "completed", output: "Done." },
  ]);
});
