import { describe, expect, test } from "vitest";
import { enhancePrompt, type PromptOptions } from "../../../core/ground/prompt/enhance-prompt.ts";
import { instructionsFor } from "../../../core/ground/prompt/instructions.ts";
import { defaultPromptSettings, isEnhanced } from "../../../core/ground/prompt/prompt-settings.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

const asked: SessionRequest = { workdir: "/elsewhere", prompt: "Fix the door." };
const parts: PromptOptions = {
  settings: defaultPromptSettings,
  workdir: "/work",
  contextFiles: [],
  takesSystemPrompt: false,
  takesOutputSchema: false,
};

/** Tokens of English prose, by the usual four characters to a token. */
function tokens(text: string): number {
  return text.length / 4;
}

describe("enhancePrompt", () => {
  test("adds everything in its order, the request's own prompt last", () => {
    const prompt = enhancePrompt({
      ...asked,
      system_prompt: "Be brief.",
      role: "implementor",
      iteration: 2,
      max_iterations: 7,
    }, { ...parts, contextFiles: [{ path: "notes.md", text: "A note." }] });
    const places = [
      "Be brief.",
      instructionsFor("implementor").full,
      "Working Directory: /work",
      "Signal completion with LOOP_COMPLETE",
      "Read .agent/scratchpad.md",
      "Iteration 2 of 7",
      'Context file "notes.md":',
      "A note.",
      "Fix the door.",
    ].map((part) => prompt.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(prompt.endsWith("Fix the door.")).toBe(true);
  });

  test.each(["implementor", "orchestrator"] as const)(
    "%s: about 800 tokens of instructions up to the third iteration, about 150 after it",
    (role) => {
      const added = (iteration: number) => {
        const prompt = enhancePrompt({ ...asked, role, iteration }, parts);
        return tokens(prompt) - tokens(asked.prompt);
      };
      for (const iteration of [1, 2, 3]) expect(Math.abs(added(iteration) - 800)).toBeLessThan(200);
      for (const iteration of [4, 5, 100]) expect(Math.abs(added(iteration) - 150)).toBeLessThan(60);
    },
  );

  test("a prompt that is not enhanced and has nothing beside it is as it was", () => {
    expect(enhancePrompt(asked, parts)).toBe(asked.prompt);
    expect(enhancePrompt({ ...asked, system_prompt: "Be brief." }, { ...parts, takesSystemPrompt: true }))
      .toBe(asked.prompt);
  });

  test("settings replace signal, scratchpad, the number of full iterations and the instructions", () => {
    const settings = {
      ...defaultPromptSettings,
      signal: "DONE",
      scratchpad: "notes.md",
      full_iterations: 1,
      instructions: { implementor: { full: "Long.", condensed: "Short." } },
    };
    expect(enhancePrompt({ ...asked, iteration: 1 }, { ...parts, settings }))
      .toBe(
        "Long.\n\nWorking Directory: /work\nSignal completion with DONE\nRead notes.md\nIteration 1\n\nFix the door.",
      );
    expect(enhancePrompt({ ...asked, iteration: 2 }, { ...parts, settings })).toMatch(/^Short\./);
  });

  test("no context file can end its own fence", () => {
    const text = "```\nout\n`````\n";
    const prompt = enhancePrompt(asked, { ...parts, contextFiles: [{ path: "a.md", text }] });
    expect(prompt).toContain(`\n\`\`\`\`\`\`\n${text}\`\`\`\`\`\`\n`);
  });
});

test("an output schema is asked for last, unless the agent takes it", () => {
  const schema = { output_schema: { type: "object" } };
  expect(enhancePrompt({ ...asked, ...schema }, parts)).toMatch(
    /^Fix the door\.\n\n.*JSON Schema:\n\{"type":"object"\}$/,
  );
  expect(enhancePrompt({ ...asked, ...schema }, { ...parts, takesOutputSchema: true })).toBe("Fix the door.");
});

describe("isEnhanced", () => {
  test.each<[Partial<SessionRequest>, "asked" | "always" | "never", boolean]>([
    [{}, "asked", false],
    [{ role: "orchestrator" }, "asked", true],
    [{ iteration: 1 }, "asked", true],
    [{ max_iterations: 3 }, "asked", true],
    [{ enhance: true }, "asked", true],
    [{ role: "implementor", enhance: false }, "asked", false],
    [{}, "always", true],
    [{ enhance: false }, "always", false],
    [{ enhance: true, iteration: 1 }, "never", false],
  ])("%j under %s: %s", (request, enhance, answer) => {
    expect(isEnhanced({ ...asked, ...request }, { ...defaultPromptSettings, enhance })).toBe(answer);
  });
});
