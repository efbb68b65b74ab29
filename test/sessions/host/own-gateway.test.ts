import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { withOwnGateway } from "../../../core/sessions/host/own-gateway.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { SettingsGateway } from "../../../plugin-sdk/manifest.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import { fakePlugin } from "../../doors/cli/fake-host.ts";

const report: AvailabilityReport = {
  availability: "unauthenticated",
  reason: "Codex is not logged in.",
  next_step: "Run codex login.",
  version: "1.2.3",
};
const { manifest, ...rest } = fakePlugin("codex");
const plugin = {
  ...rest,
  manifest: {
    ...manifest,
    gateways: [{
      program: "codex",
      file: ".codex/config.toml",
      folder: "CODEX_HOME",
      chosen: "model_provider",
      providers: "model_providers",
      key: "env_key",
      login: "requires_openai_auth",
    }],
    permissions: { run: [{ binary: "codex", env: ["CODEX_HOME", "OPENAI_API_KEY"] }] },
  },
};

const before = { home: process.env["CODEX_HOME"], key: process.env["OPENAI_API_KEY"] };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-gateway-"));
  process.env["CODEX_HOME"] = join(folder, "codex");
  await mkdir(join(folder, "codex"));
  // Settings are often links into a folder of dotfiles.
  await symlink(join(folder, "dotfile.toml"), join(folder, "codex", "config.toml"));
});
beforeEach(() => {
  process.env["OPENAI_API_KEY"] = "sk-the-value";
});
afterAll(async () => {
  for (const [name, value] of [["CODEX_HOME", before.home], ["OPENAI_API_KEY", before.key]] as const) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await rm(folder, { recursive: true });
});

async function corrected(toml: string, changes: Partial<Pick<Plugin, "manifest">> = {}): Promise<AvailabilityReport> {
  await writeFile(join(folder, "dotfile.toml"), toml);
  return await withOwnGateway(report, { ...plugin, ...changes });
}

const azure = `model = "m"\nmodel_provider = "azure" # ours\n[model_providers.azure]\nname = "Azure"\n` +
  `base_url = "https://a.example/v1"\nenv_key = "OPENAI_API_KEY"\n`;

test("withOwnGateway takes a provider with a key in the environment for a login, and tells no value", async () => {
  const told = await corrected(azure);
  expect(told).toMatchObject({ availability: "available", version: "1.2.3" });
  expect(told.reason).toMatch(/config\.toml sends it to a provider of your own, with the key in \$OPENAI_API_KEY\.$/);
  expect(told).not.toHaveProperty("next_step");
  expect(JSON.stringify(told)).not.toContain("the-value");
});

test("withOwnGateway takes one without a key too, and the one of the profile in use", async () => {
  const local = `[model_providers."my-own"]\nbase_url = 'http://127.0.0.1:1/v1'\n`;
  expect(await corrected(`model_provider = "my-own"\n${local}`)).toMatchObject({
    availability: "available",
    reason: expect.stringContaining("which asks for no login."),
  });
  const profile = `profile = "work"\n${local}[profiles.work]\nmodel_provider = "my-own"\n`;
  expect(await corrected(profile)).toMatchObject({ availability: "available" });
});

test("withOwnGateway says which variable is missing, and which ones reach the program", async () => {
  delete process.env["OPENAI_API_KEY"];
  expect(await corrected(azure)).toMatchObject({ availability: "unauthenticated", next_step: "Set OPENAI_API_KEY." });
  const other = await corrected(azure.replace("OPENAI_API_KEY", "AZURE_KEY"));
  expect(other).toMatchObject({ availability: "unauthenticated" });
  expect(other.next_step).toContain("CODEX_HOME, OPENAI_API_KEY");
});

test.each([
  ["no settings", ""],
  ["the provider that it brings along", 'model_provider = "openai"\n'],
  ["a provider that is not chosen", azure.replace("model_provider", "other")],
  ["a provider that wants the login", `${azure}requires_openai_auth = true\n`],
  ["no TOML", "\u0000[[["],
])("withOwnGateway leaves the report as it is with %s", async (_, toml) => {
  expect(await corrected(toml)).toBe(report);
});

test("withOwnGateway leaves other agents, and other reports, as they are", async () => {
  expect(
    await corrected(azure, { manifest: { ...plugin.manifest, permissions: { run: [{ binary: "claude", env: [] }] } } }),
  )
    .toBe(
      report,
    );
  const missing = { ...report, availability: "missing" as const };
  expect(await withOwnGateway(missing, plugin)).toBe(missing);
});

test.each([
  ["a file of another program", { program: "codex", file: ".aws/credentials" }],
  ["a way out of its folder", { program: "codex", file: ".codex/../.netrc" }],
  ["a variable of another program's folder", {
    program: "codex",
    file: ".codex/config.toml",
    folder: "ELSEWHERE_HOME",
  }],
  ["a program without known settings", { program: "stranger", file: ".stranger/config.toml" }],
])("withOwnGateway does not read %s", async (_, changes) => {
  const home = process.env["HOME"];
  process.env["HOME"] = folder;
  process.env["ELSEWHERE_HOME"] = folder;
  try {
    for (const file of [".aws/credentials", ".netrc", "config.toml", ".stranger/config.toml"]) {
      await mkdir(join(folder, dirname(file)), { recursive: true });
      await writeFile(join(folder, file), azure);
    }
    await mkdir(join(folder, ".codex"), { recursive: true });
    const [{ folder: _folder, ...gateway }] = plugin.manifest.gateways as [SettingsGateway];
    const run = [{ binary: changes.program, env: ["OPENAI_API_KEY"] }];
    const manifest = { ...plugin.manifest, permissions: { run }, gateways: [{ ...gateway, ...changes }] };
    expect(await withOwnGateway(report, { ...plugin, manifest })).toBe(report);
  } finally {
    delete process.env["ELSEWHERE_HOME"];
    if (home === undefined) delete process.env["HOME"];
    else process.env["HOME"] = home;
  }
});

test("withOwnGateway shows no text of the settings that a manifest chose", async () => {
  const secret = `model_provider = "sk-one"\n[model_providers.sk-one]\nenv_key = "sk-two"\n`;
  expect(JSON.stringify(await corrected(secret))).not.toMatch(/sk-(one|two)/);
});
