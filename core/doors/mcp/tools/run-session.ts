import { type TProperties, Type } from "@sinclair/typebox";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../../plugin-sdk/request.ts";
import type { AgentCapabilities } from "../../../../plugin-sdk/capabilities.ts";
import type { RunSessionOptions, SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool } from "../answers.ts";
import { followSession, resumeCall } from "../follow-session.ts";
import { runningAnswer, sessionDataSchema } from "../session-data.ts";
import { startSession } from "../start-session.ts";
import type { McpTool } from "../surface.ts";

/** Fields that say how to run a session, besides the request to its agent. */
const runFields = {
  adapter: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 64 })], {
    description: 'Id of an adapter, several in the order in which they are tried, or "auto"; default: routing.agent.',
  })),
  require: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: 'What the agent must be able to do, such as {"code_review": true}.',
  })),
  artifacts: Type.Optional(Type.Union([Type.Literal("git"), Type.Literal("none")], {
    description: "Whether git compares the folder before and after; default: git.",
  })),
  wait: Type.Optional(Type.Boolean({
    description: "False: answer at once with the session's id, and let it run; default: true.",
  })),
} satisfies TProperties;

// The interface hides that this is an object schema; a test calls the tool with every field.
const requestFields = propertiesOf(sessionRequestSchema);

const input = Type.Object({ ...requestFields, ...runFields }, {
  ...closed,
  description: "A fresh session: nothing of an earlier one is known to it, unless continue_from names the agent's own.",
});

/** Creates the tool that runs a session. */
export function runSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "run_session",
    title: "Run a session",
    description: "Runs one agent on a task in a folder, behind Bulkhead's walls, and gives what came of it: output, " +
      "changed files, usage, provenance. Progress and events are streamed as notifications. Where the agent asks " +
      'something, the answer has state "waiting" and the tool "answer" goes on. Cancelling interrupts the session.',
    hints: { reads_only: false, destroys: true },
    input,
    data: sessionDataSchema,
    async call(args, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const { adapter, require, artifacts, wait = true, ...request } = args as unknown as RunArguments;
      const { signal } = call.context.mcpReq;
      const handle = await startSession(sessions, request, {
        client,
        signal,
        adapter,
        require,
        artifacts,
      });
      return wait ? await followSession(handle, call) : runningAnswer(handle.id);
    },
  });
}

type RunArguments = SessionRequest & Pick<RunSessionOptions, "adapter" | "artifacts"> & {
  require?: AgentCapabilities;
  wait?: boolean;
};
