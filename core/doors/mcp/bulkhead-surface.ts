import { hostVersion } from "../../ground/config/version.ts";
import type { SessionDiffs, SessionHost } from "../../sessions/host/session-host.ts";
import { pluginTools } from "./plugin-tools.ts";
import { createCompletion, prompts } from "./prompts.ts";
import { sessionResources } from "./resources.ts";
import { forkSessionTool, rewindSessionTool } from "./rewind-tools.ts";
import { sessionTasks } from "./session-tasks.ts";
import type { McpSurface } from "./surface.ts";
import {
  answerTool,
  continueSessionTool,
  deleteSessionTool,
  interruptSessionTool,
  runSessionTool,
  sendMessageTool,
} from "./session-tools.ts";
import { diffSessionTool, listAgentsTool, listSessionsTool, readSessionTool } from "./reading-tools.ts";

/** Collaborators of the tools, as far as one client may see and control them. */
export interface SurfaceDeps {
  sessions: SessionHost;
  workspaces: SessionDiffs;
  /** Unique name of the client: clients take turns where sessions wait. */
  client?: string;
}

/** Builds the surface that Bulkhead offers to this client. To add a tool: a function in `session-tools.ts` or `reading-tools.ts`, and a line here. */
export function bulkheadSurface({ sessions, workspaces, client = "mcp" }: SurfaceDeps): McpSurface {
  const tools = [
    runSessionTool(sessions, client),
    sendMessageTool(sessions, client),
    continueSessionTool(sessions, client),
    answerTool(sessions),
    interruptSessionTool(sessions),
    rewindSessionTool(sessions, client),
    forkSessionTool(sessions, client),
    readSessionTool(sessions),
    diffSessionTool(workspaces),
    deleteSessionTool(sessions),
    listSessionsTool(sessions),
    listAgentsTool(sessions),
  ];
  const taken = new Set(tools.map(({ name }) => name));
  return {
    name: "bulkhead",
    title: "Bulkhead",
    version: hostVersion,
    instructions:
      "Bulkhead runs AI agents on tasks in folders of this machine, each behind walls, with the rights that " +
      "the operator granted. list_agents says who could work; run_session has one work; some have a tool of their own; every answer is JSON with " +
      "success, and on failure recovery_guidance.",
    tools,
    moreTools: () => pluginTools(sessions, { client, taken }),
    prompts,
    resources: sessionResources(sessions),
    tasks: sessionTasks(sessions),
    complete: createCompletion(sessions),
  };
}
