import { describe, expect, test } from "vitest";
import { playRecording } from "./recorded-messages.ts";
import { printed, recordingsIn } from "./recorded-lines.ts";

describe.each(["claude", "gemini"])("recordings of %s over the Agent Client Protocol", (agent) => {
  const fixtures = new URL(`../fixtures/acp/${agent}/`, import.meta.url);

  test("each says each text once, and how it ended", async () => {
    const texts: Record<string, string> = {};
    for (const name of await recordingsIn(fixtures)) {
      for (const [index, { events }] of (await playRecording(new URL(`${name}.jsonl`, fixtures))).entries()) {
        const last = events.at(-1);
        const end = last?.type === "error" ? last.code : last?.type;
        texts[index === 0 ? name : `${name} ${index + 1}`] = `${printed(events).replaceAll("\n", " / ")} => ${end}`;
      }
    }
    await expect(lines(texts)).toMatchFileSnapshot(`acp-${agent}-texts.txt`);
  });
});

function lines(rows: Record<string, string>): string {
  return Object.entries(rows).map(([name, text]) => `${name}: ${text}\n`).join("");
}
