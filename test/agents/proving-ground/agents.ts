import type { Agent } from "./agent.ts";
import { acpAgents, moreAcpAgents } from "./acp-agents.ts";
import {
  claudeCode,
  claudeCodeYaml,
  cn,
  codex,
  geminiCli,
  kimi,
  modelApi,
  opencode,
  pi,
  qwenCode,
} from "./own-adapters.ts";

/** Every agent, in the order of the report. */
export const agents: readonly Agent[] = [
  claudeCode,
  codex,
  geminiCli,
  opencode,
  ...acpAgents,
  modelApi("openai-compatible", { endpoint: "api.openai.com", secret: "OPENAI_API_KEY", config: { mode: "api" } }),
  modelApi("anthropic-api", {
    endpoint: "api.anthropic.com",
    secret: "ANTHROPIC_API_KEY",
    config: { thinking_tokens: 1024 },
  }),
  pi,
  qwenCode,
  ...moreAcpAgents,
  kimi,
  cn,
  claudeCodeYaml,
];
