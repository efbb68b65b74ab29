import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({
  refresh: Type.Optional(Type.Boolean({ description: "Ask every agent now, ignoring earlier answers." })),
}, closed);

const data = Type.Object({
  agents: Type.Array(Type.Object({
    id: Type.String({ description: "What run_session takes as adapter." }),
    availability: Type.String(),
    reason: Type.String(),
    next_step: Type.Optional(Type.String()),
  }, { additionalProperties: true })),
});

/** Creates the tool that lists agents. */
export function listAgentsTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "list_agents",
    title: "List agents",
    description: "Lists every adapter, whether its agent could take a session now, and if not, why and what to do.",
    hints: { reads_only: true },
    input,
    data,
    call: async (args) => success({ data: { agents: await sessions.agents(args) } }),
  });
}
