import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import { readEvents } from "../read-events.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({
  session_id: Type.String(),
  after: Type.Optional(Type.Integer({ minimum: 0, description: "Events after this seq; default 0: from the first." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Events at most; default 200." })),
}, closed);

const data = Type.Object({
  session: Type.Object({ session_id: Type.String(), state: Type.String() }, { additionalProperties: true }),
  events: Type.Array(Type.Object({ seq: Type.Integer() }, { additionalProperties: true })),
  next_after: Type.Integer({ description: "The after of the next page." }),
  complete: Type.Boolean({ description: "The session has ended, and nothing comes after this page." }),
});

/** Creates the tool that reads a session's events, a page at a time. */
export function readSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "read_session",
    title: "Read a session",
    description: "Reads where a session stands and its events, a page at a time. It waits for none: of a running " +
      "session it gives what there is.",
    hints: { reads_only: true },
    input,
    data,
    async call({ session_id, after, limit }) {
      const page = await readEvents(sessions, session_id, { after, limit });
      const session = await sessions.get(session_id);
      return success({ data: { session, ...page } });
    },
  });
}
