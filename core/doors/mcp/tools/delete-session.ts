import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({ session_id: Type.String() }, closed);

const data = Type.Object({ session_id: Type.String(), deleted: Type.Literal(true) });

/** Creates the tool that forgets the events of a session. */
export function deleteSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "delete_session",
    title: "Delete a session",
    description: "Forgets the events and the result of a session that has ended. Files that it changed stay.",
    hints: { reads_only: false, destroys: true },
    input,
    data,
    async call({ session_id }) {
      await sessions.delete(session_id);
      return success({ data: { session_id, deleted: true } });
    },
  });
}
