import { expect, test } from "vitest";
import { AgentQuestions } from "../../../core/doors/cli/agent-questions.ts";
import { clockTime } from "../../../core/doors/cli/render/quantities.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { fakeTerminal } from "./fake-terminal.ts";

test.each([
  [60_000, "2026-01-31T12:01:00.000Z"],
  [24 * 3600 * 1000, null],
])("a question says until when it waits, where that is soon: %d ms", async (answer_timeout_ms, until) => {
  const asked: string[] = [];
  const choose = (question: string) => {
    asked.push(question);
    return Promise.resolve(null);
  };
  const questions = { choose, text: choose };
  const one = new AgentQuestions({ answer: () => Promise.resolve(true) }, { questions, terminal: fakeTerminal({}) });
  const see = (event: object) =>
    one.see({ event, adapter: { id: "alpha" }, ts: "2026-01-31T12:00:00.000Z" } as unknown as Envelope);
  see({ type: "session_started", effective: { answer_timeout_ms } });
  see({ type: "question", request_id: "q", question: "Go on?" });
  await expect.poll(() => asked).toHaveLength(1);
  expect(asked).toEqual([`The agent asks: "Go on?"${until === null ? "" : ` (until ${clockTime(until)})`}`]);
});
