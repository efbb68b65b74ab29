import { setupSheet, sheetLines } from "../../../core/doors/cli/setup/setup-sheet.ts";
import { expect, test } from "vitest";
import { besideWalls, briefWallLines, wallLines } from "../../../core/doors/cli/render/wall-lines.ts";
import { createPaint } from "../../../core/doors/cli/render/paint.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { explainPermissions } from "../../../core/packages/permissions/explain-permissions.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { programWalls, wallsOnceGranted } from "../../../core/packages/permissions/program-walls.ts";
import { grantNotes, programsGrants, unaskedGrants } from "../../../core/packages/permissions/unasked-grants.ts";
import { fakePlugin } from "./fake-host.ts";

function agentPlugin(changes: Partial<Plugin> = {}): Plugin {
  const plugin = fakePlugin("acme");
  return {
    ...plugin,
    manifest: {
      ...plugin.manifest,
      adapter_type: "agent",
      permissions: {
        run: [{ binary: "acme", env: ["ACME_KEY", "ACME_URL", "ACME_TOKEN"] }],
        net: ["api.example.com:443", "login.example.com:443"],
      },
      housekeeping: ["telemetry.example.com:443", "registry.example.org:443"],
      endpoints: [{ program: "acme", key: "ACME_KEY", base_url: "ACME_URL", url: "https://api.example.com" }],
    },
    os_walls: defaultOsWallUses,
    grant: { net: ["api.example.com:443", "registry.example.org:443"] },
    deny: {},
    ...changes,
  };
}

const lines = (plugin: Plugin) => wallLines(programWalls(plugin), { paint: createPaint(false), columns: 200 });

test("the walls of an agent's program say whom it may call and which keys it sees", () => {
  expect(programWalls(agentPlugin())).toEqual([{
    program: "acme",
    contained: "agent",
    writes: [],
    hosts: ["api.example.com:443", "registry.example.org:443"],
    hosts_missing: ["login.example.com:443"],
    hosts_not_needed: ["telemetry.example.com:443"],
    keys_kept: ["ACME_KEY"],
    keys_seen: ["ACME_TOKEN"],
  }]);
  expect(lines(agentPlugin()).slice(3)).toEqual([
    "  calls   api.example.com:443, registry.example.org:443; not granted yet: login.example.com:443; denied, and not needed: " +
    "telemetry.example.com:443",
    "  keys    ACME_KEY stays with the host; the program sees ACME_TOKEN",
  ]);
});

test("the walls of a program name the agent whose settings it has", () => {
  const plugin = agentPlugin({ settings_of: "codex", grant: { read: ["/srv/x"] } });
  expect(lines(plugin).join("\n")).toContain("other agents' logins; and the settings of codex, /srv/x");
});

test("a program that a grant lets out has all rights, and sees its keys", () => {
  const run = [{ binary: "acme", env: ["ACME_KEY"], contain: "off" as const }];
  const [walls] = programWalls(agentPlugin({ grant: { run } }));
  expect(walls).toMatchObject({ contained: "none", hosts: null, keys_kept: [], keys_seen: ["ACME_KEY"] });
  expect(lines(agentPlugin({ grant: { run } }))).toEqual([
    "acme runs with all your rights: that amounts to everything you can do",
    "  keys    the program sees ACME_KEY",
  ]);
  const off = { ...defaultOsWallUses, agents: "off" as const };
  expect(programWalls(agentPlugin({ os_walls: off }))).toMatchObject([{ contained: "none" }]);
});

test("a program held to the working directory keeps the machine's network unless that is taken away", () => {
  const grant = (contain_net: boolean) => ({ run: [{ binary: "acme", contain: "workdir" as const, contain_net }] });
  expect(programWalls(agentPlugin({ grant: grant(false) }))).toMatchObject([{ contained: "workdir", hosts: null }]);
  expect(programWalls(agentPlugin({ grant: grant(true) }))).toMatchObject([{ contained: "workdir", hosts: [] }]);
});

test("what may be granted says of an agent that it does not ask", () => {
  const shown = (changes: object): string => {
    const plugin = agentPlugin({ grant: {}, config: {} });
    const sheet = setupSheet({ plugin: { ...plugin, manifest: { ...plugin.manifest, ...changes } } }, undefined);
    return sheetLines(sheet, { program: null }, { paint: createPaint(false), columns: 200 }).join("\n");
  };
  const words = "and does not ask before it runs commands or changes files";
  expect(shown({ reports: ["tool_calls"] })).toContain(words);
  expect(shown({ reports: ["permissions"] })).not.toContain(words);
  expect(shown({ permissions: {} })).not.toContain(words);
});

test("before a grant the walls are shown as they would be after it, without a fact twice", () => {
  const plugin = agentPlugin({ grant: {}, config: {} });
  const walls = wallsOnceGranted(plugin);
  expect(walls).toMatchObject([{ hosts: ["api.example.com:443", "login.example.com:443"], hosts_missing: [] }]);
  expect(briefWallLines(walls, { paint: createPaint(false), columns: 200 })).toEqual([
    "    acme then runs contained",
    "      writes  the working directory, a home of its own that is gone after the session, its login and its records",
    "      calls   api.example.com:443, login.example.com:443; denied, and not needed: telemetry.example.com:443, " +
    "registry.example.org:443",
    "      keys    ACME_KEY stays with the host; the program sees ACME_TOKEN",
  ]);
  const rows = explainPermissions({ requested: plugin.manifest.permissions ?? {}, grant: {}, deny: {} });
  const targets = (left: typeof rows) => left.map(({ target }) => target);
  expect(targets(besideWalls(rows, walls))).toEqual(["acme", "acme ACME_URL"]);
  const broad = { ...rows[0]!, permission: "run" as const, binary: "acme", breadth: "much" as const };
  const told = { ...broad, broad_because: "acme runs code; contained, it writes only the working directory." };
  expect(besideWalls([told], walls)).toMatchObject([{ broad_because: "acme runs code." }]);
  expect(besideWalls([told], [])).toEqual([told]);
  // Where the program is granted already, a host that an update adds must stand out.
  const added = rows.filter(({ permission }) => permission === "net");
  expect(besideWalls(added, walls)).toEqual(added);
  const off = wallsOnceGranted({ ...plugin, os_walls: { ...defaultOsWallUses, agents: "off" } });
  expect(briefWallLines(off, { paint: createPaint(false), columns: 200 })).toEqual([]);
  expect(besideWalls(rows, off)).toEqual(rows);
});

test("a program that is granted keeps the containment of that grant", () => {
  const run = [{ binary: "acme", contain: "off" as const }];
  expect(wallsOnceGranted(agentPlugin({ grant: { run }, config: {} }))).toMatchObject([{ contained: "none" }]);
});

test("what is granted to contained programs alone has an effect, and is told as theirs", () => {
  const grant = { net: ["127.0.0.1:18200"], read: ["/home/ada/mcp", "config:other"] };
  const plugin = agentPlugin({ grant });
  expect(programsGrants(plugin)).toEqual([
    { permission: "read", target: "/home/ada/mcp" },
    { permission: "net", target: "127.0.0.1:18200" },
  ]);
  expect(unaskedGrants(plugin)).toEqual([{ permission: "read", target: "config:other" }]);
  expect(programWalls(plugin)).toMatchObject([{ reads: ["/home/ada/mcp"], hosts: ["127.0.0.1:18200"] }]);
  expect(lines(plugin).join("\n")).toContain("logins; and /home/ada/mcp");
  const sources = { requested: plugin.manifest.permissions ?? {}, grant, deny: {} };
  const rowsOf = (contained: boolean) =>
    explainPermissions(sources, { path: [], contained }).filter(({ requested }) => !requested);
  expect(rowsOf(true).map(({ target, effective, why }) => [target, effective, why])).toEqual(
    expect.arrayContaining([
      ["/home/ada/mcp", ["/home/ada/mcp"], "Its contained programs may read it; its own code may not."],
      ["127.0.0.1:18200", ["127.0.0.1:18200"], "Its contained programs may call it; its own code may not."],
      ["config:other", [], "It is granted, but the manifest does not ask for it."],
    ]) as unknown[],
  );
  expect(rowsOf(false).flatMap(({ effective }) => effective)).toEqual([]);

  const denied = agentPlugin({ grant, deny: { net: ["127.0.0.1:18200"], read: ["/home/ada"] } });
  expect(programWalls(denied)).toMatchObject([{ hosts: [] }]);
  expect(programWalls(denied)[0]).not.toHaveProperty("reads");
  expect(grantNotes(denied).map(({ target }) => target)).toEqual(["config:other", "/home/ada/mcp", "127.0.0.1:18200"]);
  // A program with all your rights needs no such grant.
  const out = agentPlugin({ grant, os_walls: { ...defaultOsWallUses, agents: "off" } });
  expect(unaskedGrants(out)).toHaveLength(3);
});
