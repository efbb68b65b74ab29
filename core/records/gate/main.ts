// Looks at what a session left, in a thread of its own. Bundled to `dist/walls/gate.js`.
import { answerTask } from "../../ground/platform/engine/thread-task.ts";
import { lookAround } from "./look-around.ts";
import type { LookQuestion, MarkAnswer, MarkQuestion } from "./look-question.ts";
import { markTree } from "./mark-entry.ts";

answerTask((question) => {
  // The host asks, and nothing else can.
  const asked = question as LookQuestion | MarkQuestion;
  if (asked.task === "look") return lookAround(asked);
  return asked.paths.map((path) => markTree(`${asked.top}/${path}`)?.mark ?? null) satisfies MarkAnswer;
});
