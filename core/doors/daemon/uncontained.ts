import { containsPrograms } from "../../packages/permissions/contained-programs.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { probeAgentWall } from "../../walls/agent/contain-agent.ts";

/** Says which plugins' programs this machine cannot contain, and what helps; null when there is none. */
export async function uncontainedPrograms(
  plugins: readonly Pick<Plugin, "id" | "manifest" | "os_walls">[],
): Promise<string | null> {
  const held = plugins.filter((plugin) => containsPrograms(plugin)).map(({ id }) => id);
  if (held.length === 0) return null;
  const wall = await probeAgentWall();
  if (wall.active) return null;
  return `The programs of ${held.join(", ")} cannot be contained here and do not start. ${wall.reason}\n` +
    `${wall.remedy}\nOr set os_walls.agents to off in bulkhead.yaml: then they have all your rights.`;
}
