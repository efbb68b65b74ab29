import { expect, test } from "vitest";
import { enhancePrompt } from "../../../core/ground/prompt/enhance-prompt.ts";
import { saysComplete } from "../../../core/ground/prompt/loop-signal.ts";
import { defaultPromptSettings } from "../../../core/ground/prompt/prompt-settings.ts";

const signal = "LOOP_COMPLETE";
const prompt = enhancePrompt({ workdir: "/w", prompt: "Do it.", iteration: 1 }, {
  settings: defaultPromptSettings,
  workdir: "/w",
  contextFiles: [],
  takesSystemPrompt: true,
  takesOutputSchema: false,
});

test.each([
  ["alone on the last line", "All is done.\nLOOP_COMPLETE", true],
  ["alone on a line in between", "LOOP_COMPLETE\nThat was all.\n", true],
  ["with blanks around it", "done\r\n  LOOP_COMPLETE \r\n", true],
  ["in a sentence", "I will print LOOP_COMPLETE when it is done.", false],
  ["quoted", "`LOOP_COMPLETE`", false],
  ["in other letters", "loop_complete", false],
  ["as a part of a word", "LOOP_COMPLETED", false],
  ["nowhere", "", false],
  ["only in the prompt, which the agent echoes", prompt, false],
  ["after the prompt, which the agent echoes", `${prompt}\n\nLOOP_COMPLETE\n`, true],
])("the signal %s", (_, text, complete) => {
  expect(saysComplete(text, { signal, sent: [prompt] })).toBe(complete);
});

test("a prompt that holds the signal alone on a line does not complete the session that echoes it", () => {
  const asked = "Print this when you are done:\nLOOP_COMPLETE\nand nothing else.";
  const says = (text: string) => saysComplete(text, { signal, sent: [asked] });
  expect(says(asked)).toBe(false);
  expect(says(`You said:\n${asked}\nI am not done.`)).toBe(false);
  expect(says(`You said:\n${asked}\nNow I am.\nLOOP_COMPLETE`)).toBe(true);
  expect(says("Print this when you are done:\nLOOP_COMPLETE\nI understand.")).toBe(false);
});
