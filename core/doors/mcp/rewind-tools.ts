import { type TSchema, Type } from "@sinclair/typebox";
import type { ForkRequest, RewindRequest } from "../../../plugin-sdk/conversation.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import { propertiesOf } from "../../ground/checks/properties-of.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { forkRequestSchema, rewindRequestSchema, rewindSchema } from "../../sessions/session/schemas/conversations.ts";
import { makeTool, success } from "./answers.ts";
import { followSession, resumeCall } from "./follow-session.ts";
import { runningAnswer, sessionDataSchema } from "./session-data.ts";
import { traceOf } from "./session-tools.ts";
import type { McpTool } from "./surface.ts";

const session_id = Type.String({ description: "Any session of the conversation." });

// The interface hides that these are object schemas; a test calls the tools with every field.
const rewindInput = Type.Object({ session_id, ...propertiesOf(rewindRequestSchema as TSchema) }, closed);

const forkInput = Type.Object({
  session_id,
  ...propertiesOf(forkRequestSchema as TSchema),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: until its first turn is over." })),
}, closed);

/** Creates the tool that takes a conversation back to an earlier turn. */
export function rewindSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "rewind_session",
    title: "Take turns back",
    description: "Takes a conversation back to a turn (0: before all): its files, which sessions started with " +
      "checkpoints keep, with talk also what the agent knows, or with files false that alone. With undo it brings back the " +
      "files that were taken back last. Call it with dry_run first: it gives what would change, and what others changed as " +
      "well, which stops it unless keep_theirs. It ends a session that is kept.",
    hints: { reads_only: false, destroys: true },
    input: rewindInput,
    data: rewindSchema,
    async call({ session_id, ...request }) {
      return success({
        data: { ...await sessions.conversations.rewind(session_id, request as RewindRequest, { client }) },
      });
    },
  });
}

/** Creates the tool that goes on from an earlier turn in a conversation of its own. */
export function forkSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "fork_session",
    title: "Fork a conversation",
    description:
      "Begins a new conversation whose agent knows the turns of another one up to a turn, and leaves that one as it " +
      "is. With a prompt it works on it, and the answer is what came of that; without one it waits for send_message. At an " +
      "earlier turn it works in a worktree with the files of then, which sessions started with checkpoints keep.",
    hints: { reads_only: false, destroys: true },
    input: forkInput,
    data: sessionDataSchema,
    async call({ session_id, wait = true, ...request }, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const wish = { ...traceOf(call), ...request as ForkRequest };
      const forked = await sessions.conversations.fork(session_id, wish, { client });
      return wait
        ? await followSession(await sessions.open(forked.session_id), call)
        : runningAnswer(forked.session_id);
    },
  });
}
