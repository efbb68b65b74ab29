import { containsPrograms } from "../../packages/registry/contained-programs.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";
import { probeAgentWall } from "../../walls/agent/contain-agent.ts";

/** One sentence on those plugins whose programs this machine cannot contain, and the way out; null when there is none. */
export async function uncontainedPrograms(
  plugins: readonly Pick<Plugin, "id" | "manifest" | "os_walls">[],
): Promise<string | null> {
  const held = plugins.filter((plugin) => containsPrograms(plugin)).map(({ id }) => id);
  const wall = await probeAgentWall();
  if (wall.active || held.length === 0) return null;
  return `The programs of ${
    held.join(", ")
  } cannot be contained here and do not start. ${wall.reason} ${wall.remedy} ` +
    "Or set os_walls.agents to off in bulkhead.yaml: then they have all your rights.";
}
