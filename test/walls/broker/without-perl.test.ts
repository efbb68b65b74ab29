import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgent, writeAll } from "./agent-fixture.ts";

// As on a machine without Perl: bwrap makes the view by itself, apart from the mounts of the machine.
vi.mock("../../../core/ground/platform/processes/launcher-script.ts", () => ({
  launcherArguments: () => null,
  starterArguments: () => null,
}));

test("a view that bwrap makes holds no keys and follows the links of the person", async (context) => {
  await needsWall(context, "bubblewrap");
  const { says, home } = await makeAgent();
  await writeAll(home, { ".ssh/id": "CANARY", "dotfiles/config.toml": "seen", ".codex/auth.json": "login" });
  await writeAll(home, { ".npm/_cacache/x": "cached" });
  await symlink("../dotfiles/config.toml", join(home, ".codex/config.toml"));
  const said = await says("cat ~/.codex/*.* ~/.npm/_cacache/x; ln -s ~/.ssh .codex");
  expect(said).toBe("loginseencached");
  expect(await says(`cat .codex/id; ls ~/.ssh`)).not.toContain("CANARY");
});
