import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgent, writeAll } from "./agent-fixture.ts";
import { anyShell } from "./broker-fixture.ts";

const dashed = (path: string) => path.replaceAll(/[^a-zA-Z0-9]/g, "-");

/** All files below a folder with their content. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) {
      found[join(entry.parentPath, entry.name).slice(folder.length + 1)] = await readFile(
        join(entry.parentPath, entry.name),
        "utf8",
      );
    }
  }
  return found;
}

describe("an agent's own settings", () => {
  test("leave nothing in the home of a session that kept no conversation", async (context) => {
    await needsWall(context, "bubblewrap");
    const read = ["config:claude", "config:codex", "config:gemini", "config:opencode"];
    const { home, says, broker, next } = await makeAgent({ permissions: { run: [anyShell], read } });
    await mkdir(join(home, ".claude"));
    expect(await says("ls -d ~/.codex/sessions ~/.gemini/tmp/*/chats")).not.toContain("No such");
    const second = await next();
    await second.says("true");
    await broker.close();
    // The other session still has them.
    await second.says("echo said > ~/.codex/sessions/a");
    await second.broker.close();
    expect((await readdir(home, { recursive: true })).sort()).toEqual([
      ".claude",
      ".codex",
      ".codex/sessions",
      ".codex/sessions/a",
    ]);
  });

  test("are those of another agent too, where the operator names it, and of no other", async (context) => {
    await needsWall(context, "bubblewrap");
    const permissions = { run: [anyShell] };
    const look =
      "cat ~/.codex/config.toml ~/.claude/settings.json; echo new > ~/.codex/config.toml; echo new > ~/.codex/sessions/a";
    const first = await makeAgent({ permissions });
    const files = { ".codex/config.toml": "mine\n", ".codex/sessions/a": "old", ".claude/settings.json": "other" };
    await writeAll(first.home, files);
    expect(await first.says(look)).not.toMatch(/mine|other/);
    const second = await first.next({ permissions, settingsOf: "codex" });
    expect(await second.says(look)).toMatch(/^mine\n(?!.*other)/);
    await second.broker.close();
    // Its settings are copies, its conversations are real.
    expect(await readFile(join(first.home, ".codex/config.toml"), "utf8")).toBe("mine\n");
    expect(await readFile(join(first.home, ".codex/sessions/a"), "utf8")).toBe("new\n");
  });

  test("are copies: of all that it writes at home, its login and its project's conversations alone stay", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home, workdir, broker } = await makeAgent();
    const project = `.claude/projects/${dashed(workdir)}`;
    const kept = [
      ".claude/.credentials.json",
      `${project}/one.jsonl`,
      ".codex/auth.json",
      ".codex/sessions/2026/a.jsonl",
    ];
    const dropped = [
      ".claude/local/claude",
      ".claude/shell-snapshots/a.sh",
      ".claude/projects/-other/memory/MEMORY.md",
      ".claude/projects/-other/two.jsonl",
      `${project}/memory/MEMORY.md`,
      ".claude/session-env/a",
      ".claude/output-styles/a.md",
      ".claude/my-hooks/a",
      ".claude/session-start.sh",
      ".claude/auth-hook.sh",
      ".claude/ide/1.lock",
      ".claude/plugins/a/hooks.json",
      ".claude/settings.json",
      ".claude/settings.local.json",
      ".claude.json",
      ".codex/shell_snapshots/a.sh",
      ".codex/memories/a.md",
      ".codex/packages/a",
      ".codex/config.toml",
      ".codex/version.json",
      ".codex/token-helper",
    ];
    await writeAll(home, Object.fromEntries([...kept, ...dropped].map((name) => [name, "old"])));
    const before = await contentOf(home);
    await says(
      [...kept, ...dropped].map((name) =>
        `mkdir -p ~/$(dirname ${name}); echo evil >> ~/${name}; rm -f ~/${name}.n; echo evil > ~/${name}.n;`
      ).join("\n"),
    );
    await says(
      "rm -rf ~/.claude/hooks; mkdir -p ~/.claude/hooks && echo evil > ~/.claude/hooks/x; mkdir -p ~/.claude/new ~/.codex/new",
    );
    await broker.close();
    const after = await contentOf(home);
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]).sort();
    // Beside a conversation it may begin others.
    expect(changed).toEqual([...kept, `${project}/one.jsonl.n`, ".codex/sessions/2026/a.jsonl.n"].sort());
    expect(await readdir(join(home, ".claude"))).not.toContain("new");
  });

  test("of programs whose conversations are a database: the programs and repositories beside it do not change", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home, workdir } = await makeAgent({
      permissions: {
        run: [{ binary: "sh", args: ["-c {*}"] }],
        read: ["config:opencode", "config:gemini", "config:qwen", "config:cline"],
      },
    });
    const slug = ".gemini/tmp/their-name";
    await writeAll(home, {
      ".local/share/opencode/bin/rg": "old",
      ".local/share/opencode/opencode.db": "old",
      ".local/share/opencode/auth.json": "old",
      ".config/opencode/node_modules/a.js": "old",
      ".gemini/tmp/bin/rg": "old",
      [`${slug}/.project_root`]: workdir,
      [`${slug}/chats/one.json`]: "old",
      ".gemini/tmp/other/chats/one.json": "old",
      ".gemini/oauth_creds.json": "old",
      ".cline/data/settings/cline_mcp_settings.json": "old",
      ".qwen/settings.json": "old",
    });
    const before = await contentOf(home);
    const qwen = `.qwen/projects/${dashed(workdir)}`;
    const said = await says(
      [
        ...Object.keys(before),
        ".local/share/opencode/snapshot/x/hooks/post-checkout",
        `${qwen}/chats/a.jsonl`,
        `${qwen}/memory/a`,
      ]
        .map((name) => `mkdir -p ~/$(dirname ${name}); cat ~/${name}; echo evil >> ~/${name};`).join("\n"),
    );
    // It finds the conversations of its own project, and none of another.
    expect(said.match(/old/g)).toHaveLength(10 - 1);
    const after = await contentOf(home);
    expect(Object.keys(after).filter((name) => after[name] !== before[name]).sort()).toEqual([
      `${slug}/chats/one.json`,
      ".gemini/oauth_creds.json",
      ".local/share/opencode/auth.json",
      ".local/share/opencode/opencode.db",
      `${qwen}/chats/a.jsonl`,
    ].sort());
  });

  test("that hold a login too get its fields back, and keep what the person changed meanwhile", async (context) => {
    await needsWall(context, "bubblewrap");
    const agent = await makeAgent();
    const { says, home, broker } = agent;
    const file = join(home, ".claude.json");
    const old = { userID: "u", oauthAccount: { id: "old" }, mcpServers: {}, projects: { "/a": {} } };
    await writeFile(file, JSON.stringify(old));
    const evil = {
      ...old,
      oauthAccount: { id: "new" },
      mcpServers: { x: { command: "evil" } },
      userID: { a: ["evil"] },
    };
    await says(`cat > ~/.claude.json <<'END'\n${JSON.stringify(evil)}\nEND`);
    await writeFile(file, JSON.stringify({ ...old, theme: "dark" }));
    await broker.close();
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ ...old, oauthAccount: { id: "new" }, theme: "dark" });
    // A login that the person renewed is not undone.
    const second = await agent.next();
    await second.says(`cat > ~/.claude.json <<'END'\n${JSON.stringify(evil)}\nEND`);
    await writeFile(file, JSON.stringify({ ...old, oauthAccount: { id: "theirs" } }));
    await second.broker.close();
    expect(JSON.parse(await readFile(file, "utf8")).oauthAccount).toEqual({ id: "theirs" });
  });

  test("of an agent that is not known are copies, all of them", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home } = await makeAgent();
    await writeAll(home, { ".sh/auth.json": "old", ".sh/sessions/a": "old", ".config/sh/settings": "old" });
    expect(
      await says(
        "cat ~/.sh/auth.json; cd ~/.sh; echo evil > auth.json; echo evil > sessions/a; echo e > ../.config/sh/settings",
      ),
    ).toBe("old");
    expect(await contentOf(home)).toMatchObject({
      ".sh/auth.json": "old",
      ".sh/sessions/a": "old",
      ".config/sh/settings": "old",
    });
  });

  test("are copied up to a bound, which a line tells", async (context) => {
    await needsWall(context, "bubblewrap");
    const { says, home, logs } = await makeAgent();
    const many = Array.from({ length: 900 }, (_, index) => [`.codex/mine/${index}`, "x"]);
    await writeAll(home, Object.fromEntries(many));
    await symlink(".", join(home, ".codex/mine/round"));
    expect(Number(await says("ls ~/.codex/mine | wc -l"))).toBeLessThan(600);
    expect(logs.map(({ message }) => message).join("\n")).toContain("there is more in it than is copied");
  });
});

test("unix sockets of others are covered in shown places, in settings and in the project; its own work", async (context) => {
  await needsWall(context, "bubblewrap");
  const { says, home, workdir } = await makeAgent();
  for (const folder of [".codex/sessions", ".codex/ipc", "go/pkg", ".nvm"]) {
    await mkdir(join(home, folder), { recursive: true });
  }
  const places = [".codex/sessions/s.sock", ".codex/ipc/s.sock", ".codex/s.sock", "go/pkg/s.sock", ".nvm/s.sock"];
  const paths = [...places.map((place) => join(home, place)), join(workdir, "s.sock")];
  const servers = paths.map((path) => createServer((socket) => socket.end("reached")).listen(path));
  try {
    await Promise.all(servers.map((server) => once(server, "listening")));
    const connect = (path: string) =>
      `perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit; print <$s>' ${path};`;
    expect(await says(paths.map(connect).join(""))).toBe("");
    const own =
      `perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Local => "own.sock", Listen => 1) or die; if (fork) { my $c = $s->accept; print $c "own"; close $c; wait } else { print IO::Socket::UNIX->new(Peer => "own.sock")->getline }'`;
    expect(await says(own)).toBe("own");
    expect(await says(`test -S own.sock && echo there`)).toBe("there\n");
  } finally {
    for (const server of servers) server.close();
  }
});

test("caches of package managers are read, and what is downloaded stays in the session", async (context) => {
  await needsWall(context, "bubblewrap");
  const { says, home } = await makeAgent();
  const caches = [".npm/_cacache", ".cargo/registry", ".m2/repository", ".cache/pip", ".cache/uv", "go/pkg/mod"];
  for (const cache of caches) await writeAll(home, { [`${cache}/a/kept`]: "kept" });
  await writeAll(home, { ".m2/settings.xml": "CANARY", ".npm/_logs/a": "CANARY", ".cargo/credentials.toml": "CANARY" });
  const before = await contentOf(home);
  const all = caches.map((cache) => `~/${cache}`).join(" ");
  await says(`for c in ${all}; do echo new > $c/a/new; echo evil > $c/a/kept; rm -rf $c/a/kept; mkdir -p $c/b/c; done`);
  // Where the system has no layers, they are read-only.
  const said = await says(
    `for c in ${all}; do cat $c/a/new; ls $c; done; cat ~/.m2/settings.xml ~/.npm/_logs/a ~/.cargo/cred*`,
  );
  expect(said).toMatch(/^((new\n|cat: .*\n)a\n(b\n)?){6}/);
  expect(said).not.toContain("CANARY");
  expect(await contentOf(home)).toEqual(before);
});
