import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool } from "../answers.ts";
import { followSession, resumeCall } from "../follow-session.ts";
import { runningAnswer, sessionDataSchema } from "../session-data.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({
  session_id: Type.String(),
  request_id: Type.String({ description: "As the waiting list of the session names it." }),
  choice: Type.String({ description: "One of the choices; where there are none, your own words." }),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: until the session stops again." })),
}, closed);

/** Creates the tool that answers an agent's permission request or question. */
export function answerTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "answer",
    title: "Answer an agent",
    description: "Answers a permission request or question of a session's agent, and follows the session until it " +
      "ends or asks again.",
    hints: { reads_only: false, destroys: true },
    input,
    data: sessionDataSchema,
    async call({ session_id, request_id, choice, wait = true }, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const { last_seq, waiting } = await sessions.get(session_id);
      const handle = await sessions.open(session_id);
      if (!await handle.answer(request_id, choice)) {
        const open = waiting.map((one) => `${one.request_id} (${one.choices.join(", ") || "any text"})`).join("; ");
        throw new BulkheadError(
          "conflict",
          `Cannot answer "${request_id}": it is not open, or has no choice "${choice}".`,
          {
            hint: open === "" ? "The session waits for no answer." : `Open are: ${open}.`,
            details: { session_id, waiting },
          },
        );
      }
      return wait ? await followSession(handle, call, { after: last_seq }) : runningAnswer(session_id);
    },
  });
}
