import { join } from "node:path";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../core/packages/permissions/requested-permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { type Agent, key, plugins, type Setting } from "./agent.ts";
import {
  claudeCode,
  claudeEnv,
  codex,
  codexEnv,
  geminiCli,
  kimiEnv,
  opencode,
  opencodeEnv,
  qwenCode,
  qwenEnv,
} from "./own-adapters.ts";
import type { CaseName } from "./cases.ts";
import { settingsFolder, writeInto } from "./place.ts";

/** How an entry of the plugin for the Agent Client Protocol is run. */
interface AcpOptions {
  binary: string;
  request(setting: Setting): Partial<SessionRequest> | Promise<Partial<SessionRequest>>;
  without?: Agent["without"];
  /** Options of the plugin beside the agent's name. */
  config?(name: CaseName): Record<string, unknown>;
  more?: true;
  patienceMs?: number;
}

type Login = Pick<Agent, "loginEnv" | "settle" | "probeEnv">;

/** One entry of those that the plugin for the Agent Client Protocol has ready; it is logged in to as another agent is. */
function acp(name: string, { loginEnv, settle, probeEnv }: Login, options: AcpOptions): Agent {
  const { binary, without = {}, request, config, more, patienceMs } = options;
  return {
    id: `acp-${name}`,
    folder: join(plugins, "acp"),
    tools: true,
    more,
    patienceMs,
    without,
    loginEnv,
    probeEnv,
    settle,
    async prepare(setting) {
      const { run = [] } = requestedWith(await readManifest(this.folder), { agent: name });
      const grant = { run: run.filter((one) => one.binary === binary) };
      return {
        folder: this.folder,
        config: { agent: name, ...config?.(setting.name) },
        grant,
        request: await request(setting),
      };
    },
  };
}

const nothing: Login = { loginEnv: {}, settle: () => Promise.resolve() };

const claude = acp("claude", claudeCode, {
  binary: "claude-agent-acp",
  request: ({ name, model }) => ({ env: { ...claudeEnv(name, model), CLAUDE_CODE_MAX_RETRIES: "0" } }),
});

const gemini = acp("gemini", geminiCli, {
  binary: "gemini",
  without: { resume: "Of the sessions before it finds some and not others, whichever way they ended." },
  request: ({ name, model }) => ({
    model: "gemini-2.5-pro",
    // In its default mode it denies its helpers, without asking.
    ...(name === "helper" ? { params: { mode: "yolo" } } : {}),
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: model.url },
  }),
});

const codexAcp = acp("codex", codex, {
  binary: "codex-acp",
  more: true,
  request: async (setting) => ({ env: await codexEnv(setting, [`model = "gpt-5.5"`]) }),
});

const opencodeAcp = acp("opencode", opencode, {
  binary: "opencode",
  more: true,
  request: async (setting) => ({ model: "mock/mock", env: await opencodeEnv(setting, "ask") }),
});

const qwen = acp("qwen", qwenCode, {
  binary: "qwen",
  more: true,
  request: ({ model }) => ({ env: qwenEnv(model) }),
});

const copilotEnv = (url: string) => ({
  COPILOT_PROVIDER_BASE_URL: url,
  COPILOT_PROVIDER_API_KEY: key,
  COPILOT_MODEL: "mock",
  COPILOT_OFFLINE: "true",
});

const copilot = acp("copilot", { ...nothing, loginEnv: copilotEnv("http://127.0.0.1:9") }, {
  binary: "copilot",
  more: true,
  request: ({ model }) => ({ env: copilotEnv(`${model.url}/v1`) }),
});

const kimi = acp("kimi", { ...nothing, loginEnv: { KIMI_MODEL_NAME: "mock", KIMI_MODEL_API_KEY: key } }, {
  binary: "kimi",
  more: true,
  without: { denied: "It changes files of a repository without asking; it asks before commands." },
  request: ({ model }) => ({ env: kimiEnv(model) }),
});

const droid = acp("droid", { ...nothing, loginEnv: { FACTORY_API_KEY: key } }, {
  binary: "droid",
  more: true,
  // It tries ten times what a failing server refuses.
  patienceMs: 400_000,
  async request({ model, place }) {
    const mock = { model: "mock", displayName: "Mock", baseUrl: `${model.url}/v1`, apiKey: key };
    const customModels = [{ ...mock, provider: "generic-chat-completion-api", maxOutputTokens: 200_000 }];
    await writeInto(join(place.workdir, ".factory", "settings.json"), { customModels });
    return { model: "custom:Mock-0", env: { FACTORY_API_KEY: key } };
  },
});

const cline = acp("cline", { ...nothing, loginEnv: { CLINE_API_KEY: key } }, {
  binary: "cline",
  more: true,
  async request({ model, place }) {
    const folder = settingsFolder(place, "cline");
    const provider = "openai-compatible";
    const settings = { provider, apiKey: key, model: "gpt-4o", baseUrl: `${model.url}/v1` };
    await writeInto(join(folder, "data", "settings", "providers.json"), {
      version: 1,
      lastUsedProvider: provider,
      modes: {},
      providers: { [provider]: { settings, updatedAt: "2026-01-01T00:00:00.000Z", tokenSource: "manual" } },
    });
    return { env: { CLINE_DIR: folder, CLINE_PROVIDER: provider, CLINE_API_KEY: key } };
  },
});

const kilo = acp("kilo", nothing, {
  binary: "kilo",
  more: true,
  async request(setting) {
    const { OPENCODE_CONFIG = "" } = await opencodeEnv(setting, "ask");
    return { model: "mock/mock", env: { KILO_CONFIG: OPENCODE_CONFIG, KILO_DISABLE_MODELS_FETCH: "1" } };
  },
});

/** Agents that the plugin for the Agent Client Protocol drives, of the first lot. */
export const acpAgents: readonly Agent[] = [claude, gemini];
/** Those of the second lot. */
export const moreAcpAgents: readonly Agent[] = [
  codexAcp,
  opencodeAcp,
  qwen,
  copilot,
  kimi,
  droid,
  cline,
  kilo,
];
