import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readManifest } from "../../../core/packages/registry/read-manifest.ts";
import { requestedWith } from "../../../core/packages/registry/requested-permissions.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { ModelRun } from "../mock-model/mock-model.ts";
import type { CaseName } from "./cases.ts";
import { type Place, writeInto } from "./place.ts";

const plugins: string = fileURLToPath(new URL("../../../plugins/", import.meta.url));
/** The key of every agent but that of a plan. */
export const key = "sk-test-0123456789abcdefghij";

/** An agent of the proving ground: a plugin, and how its program is pointed at the mock model. */
export interface Agent {
  id: string;
  /** Folder of its plugin. */
  folder: string;
  /** Whether it has tools to work with. */
  tools: boolean;
  /** Cases that it is not put through, each with the reason. */
  without: Partial<Record<CaseName, string>>;
  /** Variables of the host by which somebody is logged in, while its adapter is asked for that. */
  loginEnv: Record<string, string>;
  /** Other variables of the host meanwhile, so that nothing is asked of the agent's own servers. */
  probeEnv?: (model: ModelRun) => Record<string, string>;
  /** Settings of the program in the home that all cases share. */
  settle(home: string): Promise<void>;
  prepare(setting: Setting): Promise<Prepared>;
}

/** What a case has for its agent. */
export interface Setting {
  name: CaseName;
  model: ModelRun;
  place: Place;
}

/** What an agent needs for one case. */
export interface Prepared {
  /** The plugin's folder; a copy where its manifest names a place that the mock model stands in for. */
  folder: string;
  request: Partial<SessionRequest>;
  config?: Record<string, unknown>;
  /** Where the plugin drives several programs: the one of this agent. Else what its manifest asks for. */
  grant?: Permissions;
  secrets?: Record<string, string>;
}

/** The folder of bundled plugins that a host needs for this one; a copy has its id, which is there only once. */
export function bundledFor({ folder }: Prepared): string | null {
  return folder.startsWith(plugins) ? plugins : null;
}

const nothing = (): Promise<void> => Promise.resolve();
/** What keeps OpenCode from asking its own servers. */
const opencodeQuiet = { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" };

const claudeCode: Agent = {
  id: "claude-code",
  folder: join(plugins, "claude-code"),
  tools: true,
  without: {},
  loginEnv: { ANTHROPIC_API_KEY: key },
  probeEnv: ({ url }) => ({ ANTHROPIC_BASE_URL: url, CLAUDE_CODE_MAX_RETRIES: "0" }),
  settle: nothing,
  async prepare({ name, model }) {
    return {
      folder: this.folder,
      request: { model: "claude-sonnet-4-5", params: { max_retries: 0 }, env: claudeEnv(name, model) },
    };
  },
};

/** A plan's limit is one of a login; any other case is one of a key. */
function claudeEnv(name: CaseName, { url }: ModelRun): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ...(name === "plan_limit" ? { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-test" } : { ANTHROPIC_API_KEY: key }),
  };
}

const codex: Agent = {
  id: "codex",
  folder: join(plugins, "codex"),
  tools: true,
  without: {},
  loginEnv: {},
  async settle(home) {
    await writeInto(join(home, ".codex", "auth.json"), { OPENAI_API_KEY: key });
  },
  async prepare({ model, place }) {
    const home = join(place.root, "codex-home");
    const provider = [
      `model_provider = "mock"`,
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
    return { folder: this.folder, request: { model: "gpt-5.5", env: { CODEX_HOME: home, OPENAI_API_KEY: key } } };
  },
};

const geminiCli: Agent = {
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

const opencode: Agent = {
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

async function opencodeEnv({ model, place }: Setting): Promise<Record<string, string>> {
  const file = join(place.root, "opencode.json");
  const options = { baseURL: `${model.url}/v1`, apiKey: key };
  const models = { mock: { name: "Mock", limit: { context: 200_000, output: 200_000 } } };
  await writeInto(file, {
    autoupdate: false,
    share: "disabled",
    // Else it makes a conversation shorter that is too long, and asks again, for as long as it is.
    compaction: { auto: false },
    provider: { mock: { npm: "@ai-sdk/openai-compatible", name: "Mock", options, models } },
    permission: { "*": "allow" },
  });
  return { ...opencodeQuiet, OPENCODE_CONFIG: file };
}

/** One entry of those that the plugin for the Agent Client Protocol has ready. */
function acp(
  name: string,
  { binary, like, without = {}, request }: {
    binary: string;
    without?: Agent["without"];
    /** The agent that is logged in to in the same way. */
    like: Agent;
    request(setting: Setting): Partial<SessionRequest>;
  },
): Agent {
  return {
    ...like,
    id: `acp-${name}`,
    folder: join(plugins, "acp"),
    without,
    async prepare(setting) {
      const { run = [] } = requestedWith(await readManifest(this.folder), { agent: name });
      const grant = { run: run.filter((one) => one.binary === binary) };
      return { folder: this.folder, config: { agent: name }, grant, request: request(setting) };
    },
  };
}

const acpClaude = acp("claude", {
  binary: "claude-agent-acp",
  like: claudeCode,
  request: ({ name, model }) => ({ env: { ...claudeEnv(name, model), CLAUDE_CODE_MAX_RETRIES: "0" } }),
});

const acpGemini = acp("gemini", {
  binary: "gemini",
  like: geminiCli,
  without: { resume: "Of the sessions before it finds some and not others, whichever way they ended." },
  request: ({ model }) => ({
    model: "gemini-2.5-pro",
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: model.url },
  }),
});

const qwenCode: Agent = {
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
  async prepare({ model }) {
    const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: "mock" };
    return { folder: this.folder, request: { env } };
  },
};

/** A model's adapter: its manifest's endpoint is the mock model. */
function modelApi(
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

const pi: Agent = {
  id: "pi",
  folder: join(plugins, "pi"),
  tools: true,
  without: {},
  loginEnv: {},
  settle: nothing,
  async prepare({ model, place }) {
    const home = join(place.root, "pi-home");
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
const claudeCodeYaml: Agent = {
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

/** Every agent, in the order of the report. */
export const agents: readonly Agent[] = [
  claudeCode,
  codex,
  geminiCli,
  opencode,
  acpClaude,
  acpGemini,
  modelApi("openai-compatible", { endpoint: "api.openai.com", secret: "OPENAI_API_KEY", config: { mode: "api" } }),
  modelApi("anthropic-api", {
    endpoint: "api.anthropic.com",
    secret: "ANTHROPIC_API_KEY",
    config: { thinking_tokens: 1024 },
  }),
  pi,
  qwenCode,
  claudeCodeYaml,
];
