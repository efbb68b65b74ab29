import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { continuedRequest, readEarlier } from "../../../sessions/host/earlier-session.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool } from "../answers.ts";
import { followSession, resumeCall } from "../follow-session.ts";
import { runningAnswer, sessionDataSchema } from "../session-data.ts";
import { startSession } from "../start-session.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({
  session_id: Type.String({ description: "The session to go on from; it must have ended." }),
  prompt: Type.String({ description: "What to say to its agent next." }),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: true." })),
}, closed);

/** Creates the tool that continues a session with the same agent and settings. */
export function continueSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "continue_session",
    title: "Continue a session",
    description:
      "Says something more to the agent of a session that has ended: a new session of the same adapter, in " +
      "the same folder and with the same settings, that continues the agent's own.",
    hints: { reads_only: false, destroys: true },
    input,
    data: sessionDataSchema,
    async call({ session_id, prompt, timeout_ms, wait = true }, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const earlier = await readEarlier(sessions, session_id);
      const request = { ...continuedRequest(earlier, prompt), ...omitUndefined({ timeout_ms }) };
      const { signal } = call.context.mcpReq;
      const handle = await startSession(sessions, request, { client, adapter: earlier.adapter, signal });
      return wait ? await followSession(handle, call) : runningAnswer(handle.id);
    },
  });
}
