import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHostManifest } from "bulkhead";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { type Daemon, startDaemon } from "../../../core/doors/daemon/daemon.ts";
import { daemonFiles } from "../../../core/doors/daemon/daemon-files.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import { fakeTerminal } from "../cli/fake-terminal.ts";
import { adapterCode, completed, writePlugin } from "../../sessions/host/test-host.ts";

let root = "";
let daemon: Daemon | null = null;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bh-trials-")));
});

afterEach(async () => {
  await daemon?.stop({ drainMs: 0 });
  await rm(root, { recursive: true, force: true });
});

/** The log's warnings of plugins that were tried. */
async function told(): Promise<string[]> {
  const lines = (await readFile(daemonFiles(join(root, "state")).log, "utf8")).trimEnd().split("\n");
  const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
  return messages.filter((message) => message.startsWith("Cannot load") || message.startsWith("Cannot bundle"));
}

async function cli(...args: string[]): Promise<string> {
  const terminal = fakeTerminal({
    args: [...args, "--config", join(root, "bulkhead.yaml"), "--state-dir", join(root, "state")],
    cwd: root,
  });
  await runCli(terminal, { createHost });
  return terminal.out();
}

test(
  "a daemon tries the plugins of others when it starts and when they change, and tells which cannot be loaded",
  async () => {
    const half = `import { AgentAdapter } from "bulkhead/plugin-sdk";
export default class extends AgentAdapter { id = "half"; name = "half"; }`;
    const codes = {
      crashes: `throw new Error("No licence.");`,
      half,
      hangs: "for (;;);",
      unbundled: `import fs from "node:fs"; export default fs;`,
      whole: adapterCode(`    yield ${completed};`),
    };
    for (const [id, code] of Object.entries(codes)) await writePlugin(join(root, "plugins", id), id, { code });
    await writePlugin(join(root, "plugins", "off"), "off", { code: half });
    await writeFile(
      join(root, "bulkhead.yaml"),
      `bulkhead: 1
plugins: { crashes: {}, half: {}, hangs: { limits: { load_timeout_ms: 300 } }, unbundled: {}, whole: {} }
daemon: { port: 0 }
`,
    );
    daemon = await startDaemon({
      createHost,
      readManifest: async () =>
        await loadHostManifest({ config: join(root, "bulkhead.yaml"), from: root }) ?? undefined,
      root,
      stateDir: join(root, "state"),
      bundledDir: null,
    });
    const missing = "version, capabilities, accessModes, isAvailable, runSession";
    await vi.waitFor(async () =>
      expect(await told()).toEqual([
        expect.stringMatching(/^Cannot load plugin "crashes": .*No licence\. Run: bulkhead plugin check crashes$/),
        `Cannot load plugin "half": The adapter lacks ${missing}. Run: bulkhead plugin check half`,
        expect.stringContaining('Cannot load plugin "hangs": The plugin was not loaded within 300 ms.'),
        expect.stringContaining('Cannot bundle plugin "unbundled"'),
      ]), { timeout: 30_000, interval: 100 });

    const token = (await readFile(daemon.record.token_file, "utf8")).trim();
    const client = connectHost({ fetch: unixFetch(daemon.record.socket!), token, patienceMs: 1 });
    const unusable = () => daemon!.host.signals().find(({ name }) => name === "bulkhead_plugin_unusable")?.samples;
    expect(await client.pluginProblems()).toMatchObject([
      { id: "crashes", unavailable: true, error: { code: "load_failed" } },
      { id: "half", error: { code: "adapter_incomplete", details: { missing: missing.split(", ") } } },
      { id: "hangs", error: { code: "load_failed" } },
      { id: "unbundled", error: { code: "bundle_failed" } },
    ]);
    expect(unusable()).toContainEqual({ labels: { adapter: "half", code: "adapter_incomplete" }, value: 1 });
    const listed = await cli("plugin", "list");
    expect(listed).toContain("✘ half cannot be used");
    expect(listed).not.toContain("✘ whole");
    expect(await cli("agents")).toContain(`The adapter lacks ${missing.split(",")[0]}`);
    expect(await cli("doctor", "--json")).toContain('Cannot load plugin \\"half\\": The adapter lacks');

    for (const id of ["half", "whole"]) {
      await writePlugin(join(root, "plugins", id), id, { code: id === "half" ? codes.whole : half });
    }
    await daemon.reload();
    await vi.waitFor(async () => expect((await client.pluginProblems()).map(({ id }) => id)).toContain("whole"), {
      timeout: 30_000,
      interval: 100,
    });
    expect((await client.pluginProblems()).map(({ id }) => id).sort()).toEqual([
      "crashes",
      "hangs",
      "unbundled",
      "whole",
    ]);
  },
  90_000,
);
