import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readPrompt } from "../../../core/doors/cli/prompt.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

interface Given extends FakeTerminalOptions {
  words?: (string | undefined)[];
  promptFile?: string;
  maxBytes?: number;
}

function read({ words = [], promptFile, maxBytes = 1000, ...terminal }: Given) {
  const adapters = ["alpha", "claw-code"];
  return readPrompt({ args: words, promptFile, adapters, maxBytes }, fakeTerminal(terminal));
}

test("readPrompt takes two words as adapter and prompt", async () => {
  expect(await read({ words: ["beta", "Do it."] })).toEqual({ adapter: "beta", prompt: "Do it." });
});

test("readPrompt takes a lone word that names no adapter as the prompt", async () => {
  expect(await read({ words: ["Do it."] })).toEqual({ adapter: undefined, prompt: "Do it." });
});

test("readPrompt refuses a lone word that is almost an adapter's id, and says how to send it as the prompt", async () => {
  for (
    const [word, meant] of [["claw-cod", "claw-code"], ["claw", "claw-code"], ["Alpa", "alpha"], ["alpha2", "alpha"]]
  ) {
    await expect(read({ words: [word!] })).rejects.toMatchObject({
      code: "unknown_adapter",
      message: `There is no adapter "${word}".`,
      hint: `Did you mean "${meant}"? To send the word as the prompt, name the adapter before it.`,
    });
  }
  await expect(read({ words: ["nothing-like-it"] })).rejects.toMatchObject({
    hint: "To send the word as the prompt, name the adapter before it.",
  });
  expect(await read({ words: ["hello"] })).toEqual({ adapter: undefined, prompt: "hello" });
  expect(await read({ words: ["alpha", "alpa"] })).toEqual({ adapter: "alpha", prompt: "alpa" });
});

test("readPrompt takes a lone adapter and the prompt from a pipe", async () => {
  expect(await read({ words: ["alpha"], stdin: "From a pipe." })).toEqual({ adapter: "alpha", prompt: "From a pipe." });
});

test("readPrompt reads standard input where the prompt is left out, and refuses a dash for it", async () => {
  expect(await read({ words: ["alpha,claw-code"], stdin: "Piped." }))
    .toEqual({ adapter: "alpha,claw-code", prompt: "Piped." });
  expect(await read({ stdin: "Piped." })).toEqual({ adapter: undefined, prompt: "Piped." });
  for (const given of [{ words: ["alpha", "-"] }, { words: ["-"] }, { words: ["alpha"], promptFile: "-" }]) {
    await expect(read({ ...given, stdin: "Piped." })).rejects.toMatchObject({
      message: '"-" is no prompt.',
      hint: expect.stringContaining("Leave it out"),
    });
  }
});

test("readPrompt reads a prompt file relative to the folder it was started in", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "bulkhead-prompt-"));
  try {
    await writeFile(join(cwd, "task.md"), "From a file.");
    expect(await read({ promptFile: "task.md", cwd })).toEqual({ adapter: undefined, prompt: "From a file." });
    expect(await read({ words: ["beta"], promptFile: "task.md", cwd })).toMatchObject({ adapter: "beta" });
    await expect(read({ promptFile: "none.md", cwd })).rejects.toMatchObject({ code: "not_found" });
    await expect(read({ promptFile: "task.md", cwd, maxBytes: 3 })).rejects.toMatchObject({ code: "too_large" });
  } finally {
    await rm(cwd, { recursive: true });
  }
});

test("readPrompt refuses two prompts, none on a terminal, and an empty pipe", async () => {
  await expect(read({ words: ["alpha", "a"], promptFile: "b" })).rejects.toMatchObject({ code: "invalid_config" });
  await expect(read({ words: ["alpha"], tty: true })).rejects.toThrow("There is no prompt.");
  await expect(read({ stdin: " \n" })).rejects.toThrow("empty");
});
