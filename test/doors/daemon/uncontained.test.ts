import { beforeEach, expect, test, vi } from "vitest";
import { probeAgentWall } from "../../../core/walls/agent/contain-agent.ts";
import { defaultOsWallUses, type ProbedWall } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { uncontainedPrograms } from "../../../core/doors/daemon/uncontained.ts";
import { fakePlugin } from "../cli/fake-host.ts";

vi.mock("../../../core/walls/agent/contain-agent.ts");

const missing: ProbedWall = { active: false, reason: "bwrap was not found.", remedy: "Install bubblewrap." };

function agent(id: string, agents: "required" | "off" = "required") {
  const plugin = fakePlugin(id);
  return {
    ...plugin,
    manifest: { ...plugin.manifest, adapter_type: "agent" as const },
    os_walls: { ...defaultOsWallUses, agents },
  };
}

beforeEach(() => vi.mocked(probeAgentWall).mockResolvedValue(missing));

test("agents that this machine cannot contain are named, with what to install and the way out", async () => {
  expect(await uncontainedPrograms([agent("first"), agent("second")])).toBe(
    "The programs of first, second cannot be contained here and do not start. bwrap was not found.\n" +
      "Install bubblewrap.\nOr set os_walls.agents to off in bulkhead.yaml: then they have all your rights.",
  );
});

test("nothing is said where they are not contained anyway, or can be", async () => {
  expect(await uncontainedPrograms([agent("first", "off")])).toBeNull();
  vi.mocked(probeAgentWall).mockResolvedValue({ active: true, wrap: (command) => Promise.resolve({ command }) });
  expect(await uncontainedPrograms([agent("first")])).toBeNull();
});
