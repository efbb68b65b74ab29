import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { ModelRun } from "../mock-model/mock-model.ts";
import type { CaseName } from "./cases.ts";
import { type Place, writeInto } from "./place.ts";

/** Folder of the bundled plugins. */
export const plugins: string = fileURLToPath(new URL("../../../plugins/", import.meta.url));
const key = "sk-test-0123456789abcdefghij";

/** An agent of the proving ground: a plugin, and how its program is pointed at the mock model. */
export interface Agent {
  id: string;
  /** Folder of its plugin. */
  folder: string;
  /** Whether it has tools to work with. */
  tools: boolean;
  /** Cases that it is not put through, each with the reason. */
  without: Partial<Record<CaseName, string>>;
  /** Variables of the host while its adapter is asked whether the agent is there and logged in. */
  probeEnv: Record<string, string>;
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

const nothing = (): Promise<void> => Promise.resolve();

const claudeCode: Agent = {
  id: "claude-code",
  folder: join(plugins, "claude-code"),
  tools: true,
  without: {},
  probeEnv: { ANTHROPIC_API_KEY: key },
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
  probeEnv: {},
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
  probeEnv: { GEMINI_API_KEY: key },
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
    probeEnv: {},
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
  probeEnv: {},
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
  modelApi("openai-compatible", { endpoint: "api.openai.com", secret: "OPENAI_API_KEY", config: { mode: "api" } }),
  modelApi("anthropic-api", {
    endpoint: "api.anthropic.com",
    secret: "ANTHROPIC_API_KEY",
    config: { thinking_tokens: 1024 },
  }),
  pi,
  claudeCodeYaml,
];
