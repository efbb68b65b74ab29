import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { withOwnGateway } from "../../../core/sessions/host/own-gateway.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
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
  expect(told.reason).toMatch(/config\.toml sends it to "azure", with the key in \$OPENAI_API_KEY\.$/);
  expect(told).not.toHaveProperty("next_step");
  expect(JSON.stringify(told)).not.toContain("the-value");
});

test("withOwnGateway takes one without a key too, and the one of the profile in use", async () => {
  const local = `[model_providers."my-own"]\nbase_url = 'http://127.0.0.1:1/v1'\n`;
  expect(await corrected(`model_provider = "my-own"\n${local}`)).toMatchObject({
    availability: "available",
    reason: expect.stringContaining('"my-own", which asks for no login.'),
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
