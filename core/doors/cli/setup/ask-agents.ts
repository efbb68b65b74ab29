import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import { requestedWith } from "../../../packages/registry/requested-permissions.ts";
import type { Invocation } from "../command.ts";
import type { FoundAgent } from "./find-agents.ts";

/** An agent of this machine, and what it answered when the host asked it. */
export interface AskedAgent extends FoundAgent {
  report: AgentReport;
}

/**
 * Asks each agent for its version and its login, as a session would: behind the walls, in a host that keeps nothing.
 * Nothing is written.
 */
export async function askAgents(call: Invocation, found: readonly FoundAgent[]): Promise<AskedAgent[]> {
  const host = await call.createHost({ root: call.terminal.cwd, stateDir: null, bundledDir: null });
  try {
    for (const { plugin: { id, folder, manifest, config, os_walls } } of found) {
      await host.registry.register(folder, { id, config, grant: requestedWith(manifest, config), os_walls });
    }
    const reports = await host.agents({ refresh: true });
    return found.flatMap((agent) => {
      const report = reports.find(({ id }) => id === agent.plugin.id);
      return report === undefined ? [] : [{ ...agent, report }];
    });
  } finally {
    await host.close();
  }
}
