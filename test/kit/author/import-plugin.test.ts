import { createServer, type Server } from "node:http";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { plainVersion, readAcpEntry, thisMachine } from "../../../core/kit/author/acp-entry.ts";
import { importPlugins } from "../../../core/kit/author/import-plugin.ts";
import { readKeyNames } from "../../../core/kit/author/key-names.ts";
import { modulesAround, npmProgram } from "../../../core/kit/author/npm-program.ts";
import { publishedManifest } from "../../../core/packages/install/published-manifest.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedPermissions } from "../../../core/packages/permissions/requested-permissions.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";
import { errorOf } from "../../sessions/host/test-host.ts";

/** An npm registry that knows one package, answers nothing about another, and none of the rest. */
let registry: Server;
const asked: string[] = [];
const settingsBefore = process.env["npm_config_registry"];
beforeAll(async () => {
  registry = createServer((request, answer) => {
    const name = decodeURIComponent(request.url ?? "").slice(1);
    asked.push(name);
    if (name === "silent") return;
    const version = { name, version: "1.2.3", bin: { odd: "x.js" }, dist: { tarball: "http://127.0.0.1/x.tgz" } };
    answer.writeHead(name === "@some-scope/odd-cli" ? 200 : 404, { "content-type": "application/json" });
    answer.end(JSON.stringify({ name, "dist-tags": { latest: "1.2.3" }, versions: { "1.2.3": version } }));
  });
  await new Promise<void>((settle) => registry.listen(0, "127.0.0.1", settle));
  const address = registry.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.env["npm_config_registry"] = `http://127.0.0.1:${port}/`;
});
afterAll(async () => {
  if (settingsBefore === undefined) delete process.env["npm_config_registry"];
  else process.env["npm_config_registry"] = settingsBefore;
  registry.closeAllConnections();
  await new Promise((settle) => registry.close(settle));
});

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-import-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const entry = {
  id: "some-agent",
  name: "Some Agent",
  version: "1.2.3",
  description: "An agent that speaks the protocol.",
  repository: "https://example.com/agent",
  authors: ["Somebody"],
  license: "Apache-2.0",
  license_url: "https://example.com/licence",
  distribution: { npx: { package: "@scope/some-agent@1.2.3", args: ["--acp", "--as=a b"], env: { AGENT_MODE: "1" } } },
};

/** Runs `plugin check` on a folder and gives its report. */
async function check(plugin: string): Promise<unknown> {
  const terminal = fakeTerminal({ args: ["plugin", "check", plugin, "--json", "--state-dir", "state"], cwd: folder });
  await runCli(terminal);
  return JSON.parse(terminal.out());
}

describe("importPlugins", () => {
  test("makes of an entry of the agents' registry a plugin of its own that passes the check", async () => {
    await writeFile(join(folder, "agent.json"), JSON.stringify(entry));
    const { written: [written] } = await importPlugins(join(folder, "agent.json"), { into: folder, root: folder });
    const plugin = join(folder, "some-agent");
    expect(written).toMatchObject({ id: "some-agent", folder: plugin });
    const manifest = await readManifest(plugin);
    expect(manifest).toMatchObject({ id: "some-agent", name: "Some Agent", version: "1.2.3", adapter_type: "acp" });
    expect(requestedPermissions(manifest)).toEqual({
      run: [{ binary: "some-agent", args: [`--acp "--as=a b"`], env: ["AGENT_MODE"] }],
    });
    expect(manifest.install).toEqual({ "some-agent": "npm install -g @scope/some-agent@1.2.3" });
    expect(await readFile(join(plugin, "README.md"), "utf8")).toContain("`npm install -g @scope/some-agent@1.2.3`");
    expect(await check(plugin)).toMatchObject({ plugin_id: "some-agent", passed: true });
  }, 60_000);

  test("makes of each tool of a map a plugin that passes the check", async () => {
    const map = `tools:
  shout: { binary: tr, command_template: "{binary} a-z A-Z < {prompt_file}" }
  helper:
    binary: { linux: helper, default: helper.exe }
    command_template: "{binary} --model {model} --out {output_file} {prompt}"
    models: { fast: helper-1, "slow one": helper-2 }
    env_vars: { HELPER_KEY: "\${HELPER_KEY}" }
`;
    await writeFile(join(folder, "tools.yaml"), map);
    const { written } = await importPlugins(join(folder, "tools.yaml"), { into: join(folder, "made"), root: folder });
    expect(written.map(({ id }) => id)).toEqual(["shout", "helper"]);
    expect(await readdir(join(folder, "made"))).toEqual(["helper", "shout"]);
    for (const { id, folder: plugin } of written) {
      expect(await check(plugin)).toMatchObject({ plugin_id: id, passed: true });
    }
    expect((await readManifest(written[1]!.folder)).cli).toMatchObject({
      models: { fast: "helper-1", "slow one": "helper-2" },
      env_vars: { HELPER_KEY: "${HELPER_KEY}" },
    });
  }, 60_000);

  test.each([
    ["agent.json", `{"id":"a","distribution":{}}`, /name: .*version: /s],
    ["agent.json", "{", /it is not JSON/],
    ["agent.json", JSON.stringify({ ...entry, id: "../up" }), /the id is not lowercase letters/],
    ["agent.json", JSON.stringify({ ...entry, id: "auto" }), /the id means something else/],
    ["agent.json", JSON.stringify({ ...entry, distribution: {} }), /names neither npx, uvx nor binary/],
    ["tools.yaml", "tools:\n  a: { binary: a }\n", /tools\.yaml:2:\d+ tools\.a/],
    [
      "tools.yaml",
      "tools: { good: { binary: a, command_template: '{binary}' }, evil: { binary: a, command_template: '{binary} ;' } }",
      /tools\.yaml:1:\d+ tools\.evil\.command_template/,
    ],
    ["tools.yaml", "tools:\n  ../up: { binary: a, command_template: '{binary}' }\n", /the id is not lowercase letters/],
  ])("says what is wrong in %s: %s", async (name, text, message) => {
    await writeFile(join(folder, name), text);
    const error = await errorOf(importPlugins(join(folder, name), { into: join(folder, "made"), root: folder }));
    expect(error.code).toMatch(/^(?:invalid_config|unsupported)$/);
    expect(error.message).toMatch(message);
    expect(await readdir(folder)).toEqual([name]);
  });
});

/** Runs `plugin import` and gives what it printed. */
async function runImport(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = fakeTerminal({ args: ["plugin", "import", ...args, "--state-dir", "state"], cwd: folder });
  const code = await runCli(terminal);
  return { code, out: terminal.out(), err: terminal.err() };
}

describe("bulkhead plugin import", () => {
  const other = (id: string, changes: object = {}) => ({ ...entry, id, ...changes });

  test("imports a whole registry, with a line for each entry and a summary, and takes one by another id", async () => {
    const agents = [
      other("some-agent", { version: "2026.08.11" }),
      other("codex"),
      other("far", { distribution: { binary: { "plan9-mips": { archive: "https://e/x.tgz", cmd: "./far" } } } }),
      other("droid-like", {
        distribution: {
          binary: { [thisMachine]: { archive: "https://e/droid-linux", cmd: "./droid", args: ["acp"] } },
        },
      }),
    ];
    await writeFile(join(folder, "registry.json"), JSON.stringify({ version: "1.0.0", agents, extensions: [] }));
    const { code, out, err } = await runImport("registry.json", "--into", "plugins");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^Wrote the plugin some-agent to .*plugins\/some-agent$/m);
    expect(out).toContain("The registry calls the version 2026.08.11; the plugin says 2026.8.11.");
    expect(out).toMatch(/^Left out codex: Cannot import "codex": its id is taken by the bundled plugin in /m);
    expect(out).toContain(`Left out far: Cannot import agent "far": it has no program for ${thisMachine}`);
    expect(out).toMatch(/^Imported 2 of 4\./m);
    expect(await readdir(join(folder, "plugins"))).toEqual(["droid-like", "some-agent"]);
    const droid = await readManifest(join(folder, "plugins", "droid-like"));
    expect(requestedPermissions(droid).run).toMatchObject([{
      binary: "droid",
      env: expect.arrayContaining(["FACTORY_API_KEY"]),
    }]);
    expect(droid.install).toEqual({ droid: "download https://e/droid-linux onto your PATH" });

    const again = await runImport("registry.json", "--into", "plugins", "--only", "codex", "--id", "my-codex");
    expect(again).toMatchObject({ code: 0, err: "" });
    expect(await readManifest(join(folder, "plugins", "my-codex"))).toMatchObject({ id: "my-codex" });
    expect(await check(join(folder, "plugins", "my-codex"))).toMatchObject({ passed: true });
  }, 120_000);

  test("refuses an id that is taken with the way out, and leaves nothing", async () => {
    await writeFile(join(folder, "agent.json"), JSON.stringify(other("opencode")));
    const taken = await runImport("agent.json", "--into", "plugins");
    expect(taken).toMatchObject({ code: 2, out: "" });
    expect(taken.err).toMatch(/its id is taken by the bundled plugin in .*\n.*--id my-opencode/);
    expect(await readdir(folder)).toEqual(["agent.json"]);
    const similar = await runImport("agent.json", "--into", "plugins", "--id", "openc0de");
    expect(similar.err).toMatch(
      /"openc0de": its id looks like "opencode", which is the bundled plugin in .*\n.*--id my-/,
    );
    expect(similar).toMatchObject({ code: 2, out: "" });
    const wrong = await runImport("agent.json", "--into", "plugins", "--id", "my-opencode", "--command", "@other");
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toMatch(/^error: Cannot import "my-opencode": .*--command <program>/s);
    expect(await readdir(folder)).toEqual(["agent.json"]);
    const given = await runImport("agent.json", "--into", "plugins", "--id", "my-opencode");
    expect(given).toMatchObject({ code: 0, err: "" });
    const twice = await runImport("agent.json", "--into", "plugins", "--id", "my-opencode");
    expect(twice).toMatchObject({ code: 2, err: expect.stringMatching(/Remove it to import it again, or .*--id/) });
    expect(await readdir(join(folder, "plugins"))).toEqual(["my-opencode"]);
  }, 60_000);

  test("asks the registry for a program's name, and tells a guess where it may not", async () => {
    const odd = other("odd", { distribution: { npx: { package: "@some-scope/odd-cli@1.2.2" } } });
    await writeFile(join(folder, "agent.json"), JSON.stringify(odd));
    asked.length = 0;
    const { out } = await runImport("agent.json", "--into", "plugins", "--offline");
    expect(asked).toEqual([]);
    const note = "Guessed the program: odd-cli, from the package @some-scope/odd-cli.";
    expect(out).toContain(note);
    expect(out).toContain("--command <program>");
    const readme = await readFile(join(folder, "plugins", "odd", "README.md"), "utf8");
    expect(readme).toContain(note);
    expect(readme).toContain("add its name to env in plugin.yaml");
    const known = await runImport("agent.json", "--into", "plugins", "--id", "odd-two");
    expect(known).toMatchObject({ code: 0, out: expect.not.stringContaining("Guessed") });
    const { permissions } = await readManifest(join(folder, "plugins", "odd-two"));
    expect(permissions?.run).toMatchObject([{ binary: "odd" }]);
  }, 60_000);

  test("imports all tools of a map as found in the wild, or none of them", async () => {
    const map = (template: string) =>
      `note: of another program
tools:
  shout:
    binary: tr
    command_template: ${JSON.stringify(template)}
    models: [small, large]
    platforms: [linux, darwin]
    capabilities: { chat: true }
  plain: { command: plain, args: [--print, "{prompt}"], env: [PLAIN_KEY] }
`;
    await writeFile(join(folder, "bad.yaml"), map("{binary} ; rm"));
    const bad = await runImport("bad.yaml", "--into", "plugins");
    expect(bad).toMatchObject({ code: 2, out: "", err: expect.stringContaining("tools.shout.command_template") });
    await writeFile(join(folder, "good.yaml"), map("{binary} {model} < {prompt_file}"));
    const good = await runImport("good.yaml", "--into", "plugins");
    expect(good).toMatchObject({ code: 0, err: "" });
    expect(good.out).toContain("Left out of the tool: platforms, capabilities.");
    expect(good.out).toContain("Left out of the file: note.");
    expect(await readdir(join(folder, "plugins"))).toEqual(["plain", "shout"]);
    expect((await readManifest(join(folder, "plugins", "shout"))).cli?.models).toEqual({
      small: "small",
      large: "large",
    });
    expect((await readManifest(join(folder, "plugins", "plain"))).cli).toMatchObject({
      binary: "plain",
      command_template: "{binary} --print {prompt}",
      env_vars: { PLAIN_KEY: "\${PLAIN_KEY}" },
    });
    expect(await check(join(folder, "plugins", "plain"))).toMatchObject({ passed: true });
    const cli = "cli: { backend: custom, command: my-agent, args: [--yes], prompt_mode: stdin }";
    await writeFile(join(folder, "loop.yaml"), cli);
    expect(await runImport("loop.yaml", "--into", "plugins")).toMatchObject({ code: 0, err: "" });
    expect((await readManifest(join(folder, "plugins", "my-agent"))).cli?.command_template)
      .toBe("{binary} --yes < {prompt_file}");
  }, 60_000);
});

describe("readAcpEntry", () => {
  const archive = "https://e/x.zip";
  const ways: [object, { binary: string; args?: string[] }][] = [
    [{ uvx: { package: "some-tool[extra]==1.0" } }, { binary: "some-tool", args: [] }],
    [{ npx: { package: "plain@2.0.0", args: ["acp"] } }, { binary: "plain", args: ["acp"] }],
    [{ binary: { "windows-x86_64": { archive, cmd: "./kiro-cli acp", args: ["-x"] } } }, {
      binary: "kiro-cli",
      args: ["acp", "-x"],
    }],
    [{ npx: { package: "@k/cli" }, binary: { "linux-aarch64": { archive, cmd: "./kilo" } } }, { binary: "kilo" }],
    [{ npx: { package: "@here/tool@1" } }, { binary: "real-name" }],
    [{
      binary: {
        "darwin-aarch64": { archive, cmd: "./pool-darwin-arm64", args: ["mac"] },
        "windows-x86_64": { archive, cmd: ".\\bin\\goose.exe", args: ["acp"] },
      },
    }, { binary: "goose", args: ["acp"] }],
  ];
  const options = {
    machine: "windows-x86_64",
    programOf: (name: string) => Promise.resolve(name === "@here/tool@1" ? "real-name" : null),
  };
  test.each(ways)("finds the program of %j", async (distribution, found) => {
    expect(await readAcpEntry({ ...entry, distribution }, options)).toMatchObject(found);
    expect((await readAcpEntry({ ...entry, distribution }, { ...options, command: "mine" })).binary).toBe("mine");
  });

  test("says how to install the program by a command that a shell takes as it is meant", async () => {
    const installs = ["some-tool==1.0", "some-tool[extra]==1.0", "a; touch here"].map(async (name) => {
      const uvx = { uvx: { package: name } };
      return (await readAcpEntry({ ...entry, distribution: uvx }, { command: "mine" })).install;
    });
    expect(await Promise.all(installs)).toEqual([
      "uv tool install some-tool==1.0",
      "uv tool install 'some-tool[extra]==1.0'",
      "uv tool install 'a; touch here'",
    ]);
  });

  test("asks for the variables that an entry only names, and sets those it gives a value", async () => {
    const named = { SET: "1", ASKED: "", ALSO: "${ALSO}", TOLD: { description: "Your key." } };
    const agent = await readAcpEntry({ ...entry, distribution: { npx: { package: "a", env: named } } });
    expect(agent).toMatchObject({ env: { SET: "1" }, envNames: ["ASKED", "ALSO", "TOLD"] });
    const listed = [{ name: "KEY", description: "Your key." }, "OTHER", { name: "SET", value: "1" }];
    const droid = { ...entry, distribution: { npx: { package: "droid", env: listed } } };
    expect(await readAcpEntry(droid, { keyNames: await readKeyNames() })).toMatchObject({
      env: { SET: "1" },
      envNames: expect.arrayContaining(["KEY", "OTHER", "FACTORY_API_KEY"]),
    });
    expect((await readKeyNames())("copilot")).toContain("COPILOT_GITHUB_TOKEN");
  });
});

describe("npmProgram", () => {
  test("finds the program in node_modules, else in what the registry says", async () => {
    await mkdir(join(folder, "node_modules", "@a", "b"), { recursive: true });
    const described = { name: "@a/b", bin: { one: "x.js", two: "x.js" } };
    await writeFile(join(folder, "node_modules", "@a", "b", "package.json"), JSON.stringify(described));
    const wishes: unknown[] = [];
    const askRegistry = (wanted: { name: string }) => {
      wishes.push(wanted);
      return Promise.resolve(wanted.name === "@a/c" ? { name: "@a/c", bin: "c.js" } : null);
    };
    const options = { modules: modulesAround(join(folder, "deeper")), askRegistry };
    expect(await npmProgram("@a/b@1.0.0", options)).toBe("one");
    expect(wishes).toEqual([]);
    expect(await npmProgram("@a/c@2.0.0", options)).toBe("c");
    expect(await npmProgram("d", options)).toBe(null);
    expect(await npmProgram("../../up", options)).toBe(null);
    expect(wishes).toEqual([{ name: "@a/c", version: "2.0.0" }, { name: "d", version: null }]);
  });
});

test("publishedManifest() waits for a registry only as long as it may", async () => {
  const started = Date.now();
  const wanted = { name: "silent", version: "1.0.0" };
  expect(await publishedManifest(wanted, { folder, timeoutMs: 300 })).toBe(null);
  expect(Date.now() - started).toBeLessThan(5000);
});

test.each([
  ["1.2.3", "1.2.3"],
  ["2026.08.11", "2026.8.11"],
  ["v1.2", "1.2.0"],
  ["1.2.3.4", "1.2.3-4"],
  ["1.02.3-beta.01", "1.2.3-beta.1"],
  ["latest", "0.1.0"],
])("plainVersion() of %s is %s", (text, plain) => expect(plainVersion(text)).toBe(plain));
