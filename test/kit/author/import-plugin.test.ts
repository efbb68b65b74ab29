import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readAcpEntry } from "../../../core/kit/author/acp-entry.ts";
import { importPlugins } from "../../../core/kit/author/import-plugin.ts";
import { readManifest } from "../../../core/packages/registry/read-manifest.ts";
import { requestedPermissions } from "../../../core/packages/registry/requested-permissions.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";
import { errorOf } from "../../sessions/host/test-host.ts";

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
    const [written] = await importPlugins(join(folder, "agent.json"), { into: folder });
    const plugin = join(folder, "some-agent");
    expect(written).toMatchObject({ id: "some-agent", folder: plugin });
    const manifest = await readManifest(plugin);
    expect(manifest).toMatchObject({ id: "some-agent", name: "Some Agent", version: "1.2.3", adapter_type: "acp" });
    expect(requestedPermissions(manifest)).toEqual({
      run: [{ binary: "some-agent", args: [`--acp "--as=a b"`], env: ["AGENT_MODE"] }],
    });
    expect(await readFile(join(plugin, "README.md"), "utf8")).toContain("npm install -g @scope/some-agent@1.2.3");
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
    const written = await importPlugins(join(folder, "tools.yaml"), { into: join(folder, "made") });
    expect(written.map(({ id }) => id)).toEqual(["shout", "helper"]);
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
    ["agent.json", JSON.stringify({ ...entry, id: "../up" }), /id: expected lowercase letters/],
    ["agent.json", JSON.stringify({ ...entry, distribution: {} }), /names no distribution/],
    ["tools.yaml", "tools:\n  a: { binary: a }\n", /tools\.yaml:2:\d+ tools\.a/],
    ["tools.yaml", "tools:\n  ../up: { binary: a, command_template: '{binary}' }\n", /tools\.yaml:2/],
  ])("says what is wrong in %s: %s", async (name, text, message) => {
    await writeFile(join(folder, name), text);
    const error = await errorOf(importPlugins(join(folder, name), { into: folder }));
    expect(error.code).toBe("invalid_config");
    expect(error.message).toMatch(message);
    expect(await readdir(folder)).toEqual([name]);
  });
});

describe("readAcpEntry", () => {
  const ways: [object, { binary: string; args?: string[] }][] = [
    [{ uvx: { package: "some-tool[extra]==1.0" } }, { binary: "some-tool", args: [] }],
    [{ npx: { package: "plain@2.0.0", args: ["acp"] } }, { binary: "plain", args: ["acp"] }],
    [{ binary: { "windows-x86_64": { archive: "https://e/x.zip", cmd: ".\\bin\\goose.exe", args: ["acp"] } } }, {
      binary: "goose",
      args: ["acp"],
    }],
  ];
  test.each(ways)("finds the program of %j", (distribution, found) => {
    expect(readAcpEntry({ ...entry, distribution })).toMatchObject(found);
    expect(readAcpEntry({ ...entry, distribution }, { command: "mine" }).binary).toBe("mine");
  });
});
