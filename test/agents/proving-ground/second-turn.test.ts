import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { openGround } from "./ground.ts";
import type { Talk } from "./talk.ts";

/** How soon an agent that is kept asks its model, beside one that starts. */
const { agents, talk } = openGround(["claude-code", "codex", "acp-claude", "acp-gemini", "acp-codex", "acp-opencode"]);

const rows: string[] = [];
afterAll(() => console.log(["From the prompt to the request to the model:", ...rows].join("\n")));

/** Milliseconds until the model is asked something with these words. */
async function untilAsked({ requests }: Talk, words: string, begin: () => unknown): Promise<number> {
  const started = performance.now();
  await begin();
  while (!requests.some((body) => body.includes(words))) await sleep(5);
  return performance.now() - started;
}

test.each(agents)("$id asks its model far sooner in a second turn than in a new session", {
  timeout: 300_000,
}, async (agent) => {
  const left = await talk(agent, { scenario: "text" }, async (one) => {
    await one.ended(1);
    const turns: number[] = [];
    for (const [at, words] of ["And now say quay.", "And now say pier.", "And now say jetty."].entries()) {
      turns.push(await untilAsked(one, words, () => one.say(words)));
      await one.ended(at + 2);
    }
    await one.end();
    const fresh: number[] = [];
    for (const prompt of ["Say the word dock.", "Say the word berth."]) {
      let other: Talk | undefined;
      fresh.push(await untilAsked(one, prompt, async () => other = await one.again({ prompt })));
      await other!.ended(1);
      await other!.end();
    }
    const share = Math.min(...turns) / Math.min(...fresh);
    rows.push(
      `${agent.id}: ${turns.map(Math.round)} ms in turns, ${fresh.map(Math.round)} ms in new sessions, ` +
        `${share.toFixed(3)} of it`,
    );
    expect(share).toBeLessThan(0.3);
  });
  expect(left).toEqual([]);
});
