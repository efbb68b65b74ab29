import type { SessionModeState } from "@agentclientprotocol/sdk";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import { autoMode } from "./conversation.ts";

/** The modes of a conversation: the host's own choice, and one for each adapter that is enabled. */
export function modeState(agents: readonly AgentReport[], currentModeId: string): SessionModeState {
  const enabled = agents.filter(({ availability }) => availability !== "disabled");
  return {
    currentModeId,
    availableModes: [
      { id: autoMode, name: "Automatic", description: autoDescription(agents) },
      ...enabled.map(({ id, name, availability, reason }) => ({
        id,
        name,
        description: availability === "available" ? reason : `Not available now: ${reason}`,
      })),
    ],
  };
}

function autoDescription(agents: readonly AgentReport[]): string {
  const primary = agents.find((agent) => agent.primary);
  return primary === undefined
    ? "Bulkhead chooses the agent."
    : `Bulkhead chooses the agent: ${primary.name} now, another where it fails.`;
}
