import { type TSchema, Type } from "@sinclair/typebox";
import type { RewindRequest } from "../../../plugin-sdk/conversation.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import { propertiesOf } from "../../ground/checks/properties-of.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { rewindRequestSchema, rewindSchema } from "../../sessions/session/schemas/conversations.ts";
import { makeTool, success } from "./answers.ts";
import type { McpTool } from "./surface.ts";

const session_id = Type.String({ description: "Any session of the conversation." });

// The interface hides that these are object schemas; a test calls the tools with every field.
const rewindInput = Type.Object({ session_id, ...propertiesOf(rewindRequestSchema as TSchema) }, closed);

/** Creates the tool that takes turns of a conversation back. */
export function rewindSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "rewind_session",
    title: "Take turns back",
    description: "Takes the files of a conversation back to what they were after turn `to` (0: before all), or with `undo` " +
      "brings back what was taken back last. The session must have been started with checkpoints. Call it with dry_run " +
      "first: it gives what would change, and what others changed as well, which stops it unless keep_theirs. It ends a " +
      "session that is kept. The agent is not told: say it in the next message.",
    hints: { reads_only: false, destroys: true },
    input: rewindInput,
    data: rewindSchema,
    call: async ({ session_id, ...request }) =>
      success({ data: { ...await sessions.conversations.rewind(session_id, request as RewindRequest) } }),
  });
}
