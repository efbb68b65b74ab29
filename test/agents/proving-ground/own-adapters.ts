import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ModelRun } from "../mock-model/mock-model.ts";
import { type Agent, key, plugins, type Setting } from "./agent.ts";
import type { CaseName } from "./cases.ts";
import { settingsFolder, writeInto } from "./place.ts";

const nothing = (): Promise<void> => Promise.resolve();
/** What keeps OpenCode from asking its own servers. */
const opencodeQuiet = { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" };

/** Words of the project's instructions, of a file that they import, and of one outside of it. */
export const projectMarker = "The project speaks of harbours.";
export const importMarker = "A file of the project speaks of lighthouses.";
export const outsideMarker = "A file outside speaks of secrets.";

/** Claude Code, over its two-way protocol. */
export const claudeCode: Agent = {
  id: "claude-code",
  folder: join(plugins, "claude-code"),
  tools: true,
  helpers: true,
  without: {},
  loginEnv: { ANTHROPIC_API_KEY: key },
  probeEnv: ({ url }) => ({ ANTHROPIC_BASE_URL: url, CLAUDE_CODE_MAX_RETRIES: "0" }),
  settle: nothing,
  async prepare({ name, model, place: { workdir } }) {
    await writeInto(join(workdir, "CLAUDE.md"), `${projectMarker} @docs/more.md @../outside.md\n`);
    await writeInto(join(workdir, "docs", "more.md"), `${importMarker}\n`);
    await writeInto(join(workdir, "..", "outside.md"), `${outsideMarker}\n`);
    // Of a project these stay out.
    const hooks = { SessionStart: [{ hooks: [{ type: "command", command: "touch hooked.txt" }] }] };
    await writeInto(join(workdir, ".claude", "settings.json"), { hooks, permissions: { allow: ["Bash", "Write"] } });
    return {
      folder: this.folder,
      request: { model: "claude-sonnet-4-5", params: { max_retries: 0 }, env: claudeEnv(name, model) },
    };
  },
};

/** A plan's limit is one of a login; any other case is one of a key. */
export function claudeEnv(name: CaseName, { url }: ModelRun): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ...(name === "plan_limit" ? { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-test" } : { ANTHROPIC_API_KEY: key }),
  };
}

/** Codex. */
export const codex: Agent = {
  id: "codex",
  folder: join(plugins, "codex"),
  tools: true,
  without: {},
  loginEnv: {},
  async settle(home) {
    await writeInto(join(home, ".codex", "auth.json"), { OPENAI_API_KEY: key });
  },
  async prepare(setting) {
    // Of a project these stay out: they start programs.
    const settings = ["[mcp_servers.planted]", 'command = "touch"', 'args = ["hooked.txt"]'].join("\n");
    await writeInto(join(setting.place.workdir, ".codex", "config.toml"), `${settings}\n`);
    return { folder: this.folder, request: { model: "gpt-5.5", env: await codexEnv(setting) } };
  },
};

/** Variables that point Codex at the mock model. */
export async function codexEnv(
  { name, model, place }: Setting,
  settings: readonly string[] = [],
): Promise<Record<string, string>> {
  const home = settingsFolder(place, "codex-home");
  const provider = [
    `model_provider = "mock"`,
    ...(name === "helper" ? ["features.multi_agent_v2 = true"] : []),
    ...settings,
    `[model_providers.mock]`,
    `name = "mock"`,
    `base_url = "${model.url}/v1"`,
    `env_key = "OPENAI_API_KEY"`,
    `wire_api = "responses"`,
    `request_max_retries = 0`,
    `stream_max_retries = 0`,
    `[analytics]`,
    `enabled = false`,
  ];
  await writeInto(join(home, "config.toml"), `${provider.join("\n")}\n`);
  return { CODEX_HOME: home, OPENAI_API_KEY: key };
}

/** Gemini CLI. */
export const geminiCli: Agent = {
  id: "gemini-cli",
  folder: join(plugins, "gemini-cli"),
  tools: true,
  without: {},
  loginEnv: { GEMINI_API_KEY: key },
  async settle(home) {
    await writeInto(join(home, ".gemini", "settings.json"), {
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      telemetry: { enabled: false },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true, maxAttempts: 1 },
    });
  },
  async prepare({ model }) {
    const env = { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: model.url };
    return { folder: this.folder, request: { model: "gemini-2.5-pro", env } };
  },
};

/** OpenCode. */
export const opencode: Agent = {
  id: "opencode",
  folder: join(plugins, "opencode"),
  tools: true,
  without: {},
  loginEnv: {},
  probeEnv: () => opencodeQuiet,
  settle: nothing,
  async prepare(setting) {
    return { folder: this.folder, request: { model: "mock/mock", env: await opencodeEnv(setting) } };
  },
};

/** Variables that point OpenCode at the mock model. */
export async function opencodeEnv(
  { model, place }: Setting,
  permission: "allow" | "ask" = "allow",
): Promise<Record<string, string>> {
  const file = settingsFolder(place, "opencode.json");
  const options = { baseURL: `${model.url}/v1`, apiKey: key };
  const limit = { context: 200_000, output: 200_000 };
  const modalities = { input: ["text", "image"], output: ["text"] };
  const models = { mock: { name: "Mock", attachment: true, modalities, limit } };
  await writeInto(file, {
    autoupdate: false,
    share: "disabled",
    // Else it makes a conversation shorter that is too long, and asks again, for as long as it is.
    compaction: { auto: false },
    provider: { mock: { npm: "@ai-sdk/openai-compatible", name: "Mock", options, models } },
    permission: { "*": permission },
  });
  return { ...opencodeQuiet, OPENCODE_CONFIG: file };
}

/** Qwen Code, by rules. */
export const qwenCode: Agent = {
  id: "qwen-code",
  folder: join(plugins, "qwen-code"),
  tools: true,
  without: {},
  loginEnv: { OPENAI_API_KEY: key },
  async settle(home) {
    await writeInto(join(home, ".qwen", "settings.json"), {
      security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      telemetry: { enabled: false },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, enableAutoUpdate: false },
      // Its tries again after a limit, each of them a minute later; the seven that it makes of any failing request stay.
      model: { generationConfig: { maxRetries: 0 } },
    });
  },
  prepare({ model }) {
    return Promise.resolve({ folder: this.folder, request: { env: qwenEnv(model) } });
  },
};

/** Variables that point Qwen Code at the mock model. */
export function qwenEnv({ url }: ModelRun): Record<string, string> {
  return { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "mock" };
}

/** A model's adapter: its manifest's endpoint is the mock model. */
export function modelApi(
  id: string,
  { endpoint, secret, config }: { endpoint: string; secret: string; config: Record<string, unknown> },
): Agent {
  return {
    id,
    folder: join(plugins, id),
    tools: false,
    without: {},
    loginEnv: {},
    settle: nothing,
    async prepare({ model, place }) {
      const folder = join(place.root, "packages", id);
      await cp(this.folder, folder, { recursive: true });
      const file = join(folder, "plugin.yaml");
      const { host, origin, pathname } = new URL(model.url);
      const manifest = (await readFile(file, "utf8")).replaceAll(`https://${endpoint}`, `${origin}${pathname}`);
      await writeFile(file, manifest.replaceAll(`${endpoint}:443`, host));
      return {
        folder,
        request: {},
        config: config ?? {},
        secrets: { [secret]: key },
      };
    },
  };
}

/** Pi, by rules. */
export const pi: Agent = {
  id: "pi",
  folder: join(plugins, "pi"),
  tools: true,
  without: {},
  loginEnv: {},
  settle: nothing,
  async prepare({ model, place }) {
    const home = settingsFolder(place, "pi-home");
    const mock = {
      baseUrl: `${model.url}/v1`,
      api: "openai-completions",
      apiKey: "OPENAI_API_KEY",
      models: [{ id: "mock" }],
    };
    await writeInto(join(home, "models.json"), { providers: { mock } });
    const chosen = { defaultProvider: "mock", defaultModel: "mock" };
    await writeInto(join(home, "settings.json"), { ...chosen, retry: { enabled: false, provider: { maxRetries: 0 } } });
    return {
      folder: this.folder,
      request: { env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1", OPENAI_API_KEY: key } },
    };
  },
};

/** The same program by rules alone: what code is for is seen beside the one with code. */
export const claudeCodeYaml: Agent = {
  ...claudeCode,
  id: "claude-code-yaml",
  folder: fileURLToPath(new URL("../../fixtures/claude-code-yaml/", import.meta.url)),
  async prepare({ name, model }) {
    const quiet = {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      DISABLE_AUTOUPDATER: "1",
    };
    return { folder: this.folder, request: { env: { ...claudeEnv(name, model), ...quiet } } };
  },
};

/** Kimi Code by rules. */
export const kimi: Agent = {
  id: "kimi",
  folder: fileURLToPath(new URL("../../fixtures/kimi/", import.meta.url)),
  tools: true,
  more: true,
  without: {},
  loginEnv: {},
  settle: nothing,
  prepare({ model }) {
    return Promise.resolve({ folder: this.folder, request: { env: kimiEnv(model) } });
  },
};

/** Variables that point Kimi Code at the mock model. */
export function kimiEnv({ url }: ModelRun): Record<string, string> {
  return {
    KIMI_MODEL_NAME: "mock",
    KIMI_MODEL_PROVIDER_TYPE: "openai",
    KIMI_MODEL_BASE_URL: `${url}/v1`,
    KIMI_MODEL_API_KEY: key,
    KIMI_LOOP_MAX_ATTEMPTS_PER_STEP: "1",
  };
}

/** Continue's program, by a few lines of YAML: it prints its last words alone. */
export const cn: Agent = {
  id: "cn",
  folder: fileURLToPath(new URL("../../fixtures/cn/", import.meta.url)),
  tools: true,
  more: true,
  // Eleven tries, with up to half a minute between them, which no setting shortens.
  patienceMs: 400_000,
  without: {},
  loginEnv: {},
  settle: nothing,
  async prepare({ model, place }) {
    const folder = settingsFolder(place, "continue");
    const mock = { name: "mock", provider: "openai", model: "mock", apiBase: `${model.url}/v1`, apiKey: key };
    // JSON is YAML.
    await writeInto(join(folder, "config.yaml"), {
      name: "test",
      version: "1.0.0",
      schema: "v1",
      models: [{ ...mock, roles: ["chat"] }],
    });
    return { folder: this.folder, request: { env: { CONTINUE_GLOBAL_DIR: folder } } };
  },
};
