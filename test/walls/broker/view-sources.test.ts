import { mkdir, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgent, writeAll } from "./agent-fixture.ts";

const canary = "CANARY";

/** A home with keys, and state beside it. */
async function withKeys(changes?: Parameters<typeof makeAgent>[0]) {
  const agent = await makeAgent(changes);
  await writeAll(agent.home, { ".ssh/id_ed25519": canary, ".ssh/authorized_keys": "mine", "notes/x.txt": canary });
  await writeAll(agent.state, { "journal.db": canary, "sub/a/b": "" });
  return agent;
}

/** Looks for the canary wherever a place of settings or of git may have brought it. */
const look = (home: string, state: string) =>
  `grep -rs ${canary} . ${home} ${state} /tmp 2>/dev/null | head -5; for f in .codex/* .claude/* .codex/*/*; do echo x >> $f/authorized_keys; done 2>/dev/null; true`;

describe("a first program plants, and the next session finds nothing:", () => {
  const forms: Readonly<Record<string, (home: string, state: string) => string>> = {
    "a folder in the project's settings": (home) => `mkdir .codex; ln -s ${home}/.ssh .codex/x`,
    "a folder of hooks": (home) => `mkdir .codex; ln -s ${home}/.ssh .codex/hooks; ln -s ${home} .codex/skills`,
    "a file that is called as a login": (home) => `mkdir .codex; ln -s ${home}/.ssh/id_ed25519 .codex/auth.json`,
    "a file": (home) => `mkdir .codex; ln -s ${home}/.ssh/id_ed25519 .codex/config.toml`,
    "the settings themselves": (home) => `ln -s ${home}/.ssh .codex; ln -s ${home} .sh`,
    "the host's state": (_, state) =>
      `mkdir .codex; ln -s ${state} .codex/sessions; ln -s ${state}/journal.db .codex/j`,
    "a relative link, as git keeps it": () => "mkdir -p .sh; ln -s ../../home/.ssh .sh/cache",
    "two links in a row": (home) => `ln -s ${home}/.ssh one; mkdir .codex; ln -s ../one .codex/two`,
    "a .git file": (home) => `echo "gitdir: ${home}/.ssh/a/b" > .git`,
    "a .git file that names the state": (_, state) => `echo "gitdir: ${state}/sub/a" > .git`,
    "a .git file that names the home": (home) => `echo "gitdir: ${home}/notes/a" > .git`,
    "a .git file by a link": (home) => `ln -s ${home}/.ssh keys; echo "gitdir: keys/a/b" > .git`,
    "a link in place of .git": (home) => `ln -s ${home}/.ssh .git`,
    "a pipe in place of .git": () => "mkfifo .git",
    "a folder for git that is a link": (home) =>
      `mkdir -p g/worktrees/w; echo "$PWD/.git" > g/worktrees/w/gitdir; touch g/HEAD; mkdir g/refs;
       ln -s ${home}/.ssh g/objects; echo "gitdir: $PWD/g/worktrees/w" > .git`,
  };
  for (const [name, plant] of Object.entries(forms)) {
    test(name, async (context) => {
      await needsWall(context, "bubblewrap");
      const { says, home, state, next, broker } = await withKeys();
      await says(plant(home, state));
      // Another program of the same session, and the next session.
      expect(await says(look(home, state))).not.toContain(canary);
      await broker.close();
      const second = await next();
      expect(await second.says(look(home, state))).not.toContain(canary);
      expect(await second.says("echo works")).toBe("works\n");
      expect(await readFile(join(home, ".ssh/authorized_keys"), "utf8")).toBe("mine");
      expect(await readdir(join(home, ".ssh"))).toEqual(["authorized_keys", "id_ed25519"]);
    });
  }
});

describe("links that the person made", () => {
  test("to settings, records and tools in a folder of dotfiles keep working", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home, logs } = await withKeys();
    await writeAll(home, {
      "dotfiles/codex/config.toml": "model = 1",
      "dotfiles/codex/skills/one/SKILL.md": "skill",
      "dotfiles/git/config": "[user]",
      "dotfiles/bin/tool": "#!/bin/sh\necho tool",
      "dotfiles/claude/settings.json": "settings",
      "kept/sessions/old.jsonl": "old",
      ".codex/prompts/real.md": "real",
      "dotfiles/prompt.md": "prompt",
    });
    await mkdir(join(home, ".local/bin"), { recursive: true });
    await mkdir(join(home, ".config"));
    const links = {
      ".codex/config.toml": "../dotfiles/codex/config.toml",
      ".codex/skills": "../dotfiles/codex/skills",
      ".codex/sessions": "../kept/sessions",
      ".codex/prompts/linked.md": "../../dotfiles/prompt.md",
      ".config/git": "../dotfiles/git",
      ".local/bin/tool": "../../dotfiles/bin/tool",
      ".claude": "dotfiles/claude",
    };
    for (const [link, end] of Object.entries(links)) await symlink(end, join(home, link));
    const said = await says(
      "cd ~; cat .codex/config.toml .codex/skills/one/SKILL.md .config/git/config .codex/prompts/*.md .claude/settings.json; sh .local/bin/tool; cat .codex/sessions/old.jsonl; echo new > .codex/sessions/new.jsonl; ls dotfiles/claude",
    );
    expect(said).toMatch(/^model = 1skill\[user\]promptrealsettingstool\nold/);
    expect(await readFile(join(home, "kept/sessions/new.jsonl"), "utf8")).toBe("new\n");
    expect(logs).toEqual([]);
  });

  test("that lead to keys, to the home or into the project count for nothing, and a line says so", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home, workdir, logs } = await withKeys();
    await writeAll(workdir, { "planted/config": canary });
    await mkdir(join(home, ".codex"));
    await mkdir(join(home, ".claude"));
    await symlink("../.ssh", join(home, ".codex/skills"));
    await symlink("../.ssh/id_ed25519", join(home, ".codex/auth.json"));
    await symlink("..", join(home, ".codex/sessions"));
    await symlink(join(workdir, "planted"), join(home, ".claude/agents"));
    await symlink(".ssh", join(home, ".nvm"));
    const said = await says(
      "cd ~; cat .codex/skills/id_ed25519 .codex/auth.json .nvm/id_ed25519 .claude/agents/config; ls -R .codex/sessions",
    );
    expect(said).not.toContain(canary);
    const told = logs.map(({ message }) => message).join("\n");
    for (const name of [".codex/skills", ".codex/auth.json", ".codex/sessions", ".claude/agents", ".nvm"]) {
      expect(told).toContain(`The agent does not see ${join(home, name)}: `);
    }
  });

  test("that the operator's grant names count, but not to what is hidden or where agents write", async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await withKeys();
    const { home, root, workdir, next } = agent;
    await writeAll(root, { "data/one": "data" });
    await symlink(join(root, "data"), join(home, "data"));
    await symlink(join(home, ".ssh"), join(home, "keys"));
    await symlink(join(home, ".ssh"), join(workdir, "link"));
    const { options } = agent;
    const permissions = { ...options.permissions, read: [`${home}/keys`, `${workdir}/link`], write: [`${home}/data`] };
    const second = await next({ permissions });
    expect(await second.says(`cat ${home}/data/one ${home}/keys/* link/*; echo x > ${home}/data/two`)).not.toContain(
      canary,
    );
    expect(await readdir(join(root, "data"))).toEqual(["one", "two"]);
  });
});

test("a hidden place stays hidden inside a place that is shown, under each of its names", async (context) => {
  await needsWall(context, "bubblewrap");
  const { says, home, options, next } = await withKeys();
  const keys = [
    ".npm-global/etc/npmrc",
    ".local/share/uv/credentials/one",
    ".config/git/credentials",
    ".config/mise/config.toml",
    ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
    "go/src/project/.env",
    "bin/script",
    ".nvm/versions/node/v20/etc/npmrc",
    "granted/.ssh/id",
  ];
  await writeAll(home, Object.fromEntries(keys.map((name) => [name, canary])));
  await writeAll(home, { "go/pkg/mod/x": "seen", ".nvm/versions/node/v20/bin/node": "seen", ".nvm/nvm.sh": "seen" });
  await rm(join(home, ".ssh"), { recursive: true });
  await symlink("granted/.ssh", join(home, ".ssh"));
  const all = keys.map((name) => `${home}/${name}`).join(" ");
  const said = await says(`cat ${all}; cat ~/go/pkg/mod/x ~/.nvm/versions/node/v20/bin/node ~/.nvm/nvm.sh; ls ~/bin`);
  expect(said).not.toContain(canary);
  expect(said).toContain("seenseenseen");
  // The operator's grant of a folder around them, of one in them, and of the whole home.
  for (const read of [[`${home}/granted`], [`${home}/granted/.ssh`], [home], [`${home}/.npm-global`], ["/"]]) {
    const second = await next({ permissions: { ...options.permissions, read } });
    expect(await second.says(`cat ${home}/granted/.ssh/id ${home}/.npm-global/etc/npmrc`)).not.toContain(canary);
  }
});

test("a hidden file of the project stays hidden, whatever a grant or a second host shows", async (context) => {
  await needsWall(context, "bubblewrap");
  const { workdir, options, next, state } = await withKeys();
  await writeAll(workdir, { "bulkhead.yaml": canary, "sub/secrets.json": canary });
  const protectedPaths = [state, join(workdir, "bulkhead.yaml"), join(workdir, "sub/secrets.json")];
  const read = [join(workdir, "bulkhead.yaml"), join(workdir, "sub"), workdir];
  const agent = await next({ protectedPaths, permissions: { ...options.permissions, read } });
  expect(await agent.says("cat bulkhead.yaml sub/secrets.json; echo done")).not.toContain(canary);
});
