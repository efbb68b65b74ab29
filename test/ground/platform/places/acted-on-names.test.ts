import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { actedOn, actedOnGroups, actedOnPart } from "../../../../core/ground/platform/places/acted-on-names.ts";

/** What the agent of each bundled plugin reads in a project or in the user's folder by itself. */
const readByAgents: Record<string, readonly string[]> = {
  "claude-code": [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/settings.json",
    ".claude/agents/x.md",
    ".claude.json",
    ".mcp.json",
  ],
  codex: ["AGENTS.md", "AGENTS.override.md", ".codex/config.toml", ".codex/prompts/x.md", ".agents/skills/x/SKILL.md"],
  "gemini-cli": ["GEMINI.md", ".gemini/settings.json", ".gemini/extensions/x/gemini-extension.json", ".env"],
  kiro: [".kiro/agents/default.json", ".kiro/steering/x.md", ".kiro/hooks/x.kiro.hook", ".kiro/settings/mcp.json"],
  opencode: ["AGENTS.md", "opencode.json", "opencode.jsonc", ".opencode/plugin/x.ts", ".config/opencode/opencode.json"],
  pi: ["AGENTS.md", ".pi/settings.json", ".pi/extensions/x.ts", ".pi/agent/models.json"],
  qchat: [".amazonq/rules/x.md", ".amazonq/cli-agents/x.json", ".aws/amazonq/mcp.json", "AmazonQ.md"],
  "qwen-code": ["QWEN.md", ".qwen/settings.json", ".qwen/.env"],
  acp: [".copilot/mcp-config.json", ".github/copilot-instructions.md", ".cursor/mcp.json", "GEMINI.md"],
};

test("every bundled agent finds its orders and settings closed to writing", async () => {
  const folders = new URL("../../../../plugins/", import.meta.url);
  const manifests = await Promise.all(
    (await readdir(folders)).map(async (id) =>
      [id, await readFile(new URL(`${id}/plugin.yaml`, folders), "utf8")] as const
    ),
  );
  // `repo-census` and `memory-hog` start no agent.
  const agents = manifests.filter(([id, text]) =>
    /^\s+-? ?binary: /m.test(text) && !/^(repo-census|memory-hog)$/.test(id)
  );
  expect(Object.keys(readByAgents).sort()).toEqual(agents.map(([id]) => id).sort());
  for (const [id, paths] of Object.entries(readByAgents)) {
    for (const path of paths) expect([id, path, actedOnPart(path)]).not.toEqual([id, path, null]);
  }
});

test.each([
  "Makefile",
  "GNUmakefile",
  "Gulpfile.babel.js",
  "Taskfile.dist.yml",
  "justfile",
  "jest.config.ts",
  "vitest.workspace.mts",
  ".prettierrc.cjs",
  ".zshrc",
  ".env.production",
  "app.gradle.kts",
  "tool.csproj",
  "x.pth",
  "P\u200backage.json",
])("takes %j for what programs act on", (name) => {
  expect(actedOn(name)).not.toBe(null);
});

test.each([
  "index.ts",
  "README.md",
  "config.ts",
  "profile",
  "Dockerfile",
  "compose.yaml",
  "package-lock.json",
  ".gitignore",
  ".gitkeep",
  ".env.example",
  "profiles.ts",
  "test_conftest.py",
  "rc",
  "tsconfig.json",
  "Info.plist",
])("leaves %j open", (name) => {
  expect(actedOn(name)).toBe(null);
});

test("every name stands once, as it is compared, and every group says who and why", () => {
  const all = actedOnGroups.flatMap(({ names }) => [...names]);
  expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
  for (const name of all) expect(actedOn(name)?.names.has(name)).toBe(true);
  for (const { by, why } of actedOnGroups) {
    expect(by).toMatch(/s$/);
    expect(why).toMatch(/^[A-Z].{20,}\.$/);
  }
});
