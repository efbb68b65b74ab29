import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { anyShell, capabilities, errorOf, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const ownHome = process.env["HOME"];
afterEach(() => {
  process.env["HOME"] = ownHome;
});

async function makeAgent(
  readable: (home: string, workdir: string) => string[],
  changes: (home: string) => Partial<SessionBrokerOptions> = () => ({}),
) {
  const fixture = await makeBroker({ permissions: { run: [anyShell] }, containPrograms: true, programNet: [] });
  const home = join(fixture.root, "home");
  for (const folder of ["mcp", "private", ".ssh", ".config/gh"]) await mkdir(join(home, folder), { recursive: true });
  for (const file of ["mcp/probe.mjs", "private/notes", ".ssh/id", ".config/gh/hosts.yml"]) {
    await writeFile(join(home, file), `CANARY ${file}\n`);
  }
  process.env["HOME"] = home;
  const options: SessionBrokerOptions = {
    ...fixture.options,
    tempDir: `${fixture.options.tempDir}-2`,
    protectedPaths: [join(fixture.root, "state")],
    programRead: readable(home, fixture.workdir),
    ...changes(home),
  };
  const { broker, events } = await makeBroker({ ...options, emit: (event) => void fixture.events.push(event) });
  const run = async (script: string) => {
    const { stdout, stderr } = await runShell(broker, script);
    return await readAll(broker, stdout) + await readAll(broker, stderr);
  };
  const refused = () => capabilities([...fixture.events, ...events]).filter(({ permission }) => permission === "read");
  return { ...fixture, broker, home, run, refused };
}

test("a path that the operator grants for reading is shown to a contained program, read-only, and to nothing else", async (context) => {
  await needsWall(context, "bubblewrap");
  const { run, home, broker, refused } = await makeAgent((home) => [join(home, "mcp"), join(home, "missing")]);
  const text = await run(
    "cat ~/mcp/probe.mjs ~/private/notes ~/.ssh/id; echo evil > ~/mcp/probe.mjs; echo x > ~/mcp/new",
  );
  expect(text).toContain("CANARY mcp/probe.mjs");
  expect(text.match(/CANARY/g)).toHaveLength(1);
  expect(text.match(/Read-only file system/g)).toHaveLength(2);
  expect(await readFile(join(home, "mcp/probe.mjs"), "utf8")).toBe("CANARY mcp/probe.mjs\n");
  expect(refused()).toEqual([]);
  // The adapter's own code asks by its manifest.
  expect((await errorOf(broker.call("fs_read_text", { path: join(home, "mcp/probe.mjs") }))).code).toBe(
    "permission_denied",
  );
});

test.for<[name: string, place: (home: string, workdir: string) => string]>([
  ["keys", (home) => join(home, ".ssh")],
  ["a file among keys", (home) => join(home, ".ssh/id")],
  ["a folder that holds keys", (home) => join(home, ".config")],
  ["the home", (home) => home],
  ["everything", () => "/"],
  ["the host's state", (home) => join(home, "../state/data")],
  ["processes", () => "/proc/1"],
  ["a link to keys", (home) => join(home, "to-keys")],
  ["a link of the agent's", (_, workdir) => join(workdir, "led")],
])("a hidden place stays hidden whatever is granted, and a person is told once: %s", async ([, place], context) => {
  await needsWall(context, "bubblewrap");
  const { run, home, workdir, refused } = await makeAgent((home, workdir) => [place(home, workdir)]);
  await mkdir(join(home, "../state/data"), { recursive: true });
  await symlink(join(home, ".ssh"), join(home, "to-keys"));
  await symlink(join(home, "private"), join(workdir, "led"));
  const target = place(home, workdir);
  const look = "cat ~/.ssh/id ~/.config/gh/hosts.yml ~/private/notes led/notes to-keys/id; true";
  expect(await run(look) + await run(look)).not.toContain("CANARY");
  expect(refused()).toMatchObject([{
    target,
    decision: "denied",
    reason: expect.stringContaining("no agent sees") as string,
  }]);
});

describe("the files of an MCP server", () => {
  const withServers = (line: (home: string) => string[], mcp_servers = ["sh"]) => (home: string) => {
    const [command, ...args] = line(home);
    const mcpConfig = JSON.stringify({
      mcpServers: { probe: { command, args, env: {} }, far: { type: "http", url: "https://x.example", headers: {} } },
    });
    return { mcpConfig, permissions: { run: [anyShell], mcp_servers } };
  };
  const look =
    "cat ~/mcp/probe.mjs ~/private/notes ~/tools/probe/lib/more.js ~/.ssh/id; echo x > ~/mcp/probe.mjs; true";

  test("are shown to the agent that gets it, read-only, and nothing beside them", async (context) => {
    await needsWall(context, "bubblewrap");
    const line = (
      home: string,
    ) => ["node", "--flag", join(home, "mcp/probe.mjs"), `--data=${join(home, "missing")}`, "/etc/passwd"];
    const { run, home, refused } = await makeAgent(() => [], withServers(line));
    const text = await run(look);
    expect(text.match(/CANARY.*/g)).toEqual(["CANARY mcp/probe.mjs"]);
    expect(text).toContain("Read-only file system");
    expect(await readFile(join(home, "mcp/probe.mjs"), "utf8")).toBe("CANARY mcp/probe.mjs\n");
    expect(refused()).toEqual([]);
    const other = await makeAgent(() => [], withServers(line, []));
    expect(await other.run(look)).not.toContain("CANARY");
  });

  test("come with the package that they belong to, behind links too", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, home } = await makeAgent(() => [], withServers((home) => [join(home, "bin/probe")]));
    await mkdir(join(home, "tools/probe/lib"), { recursive: true });
    await mkdir(join(home, "bin"));
    await writeFile(join(home, "tools/probe/package.json"), "{}");
    await writeFile(join(home, "tools/probe/lib/more.js"), "CANARY more\n");
    await writeFile(join(home, "tools/probe/main.sh"), "#!/bin/sh\necho CANARY main\n", { mode: 0o755 });
    await symlink(join(home, "tools/probe/main.sh"), join(home, "bin/probe"));
    expect((await run(`~/bin/probe; ${look}`)).match(/CANARY.*/g)).toEqual(["CANARY main", "CANARY more"]);
  });

  test("stay hidden where they are, or hold, keys, and a person is told", async (context) => {
    await needsWall(context, "bubblewrap");
    const { run, home, refused } = await makeAgent(
      () => [],
      withServers((home) => ["cat", join(home, ".ssh/id"), `--root=${home}/.config`]),
    );
    expect(await run(look)).not.toContain("CANARY");
    expect(refused().map(({ target }) => target).sort()).toEqual([join(home, ".config"), join(home, ".ssh/id")]);
  });
});
