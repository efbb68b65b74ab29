import type { JsonFields } from "bulkhead/plugin-sdk";

/** How an agent is made to ask, where a request says how what it does is approved. */
export interface Asking {
  /** Mode of its sessions in which it asks, where that has no usual name. */
  mode?: string;
  /** Variables that it is given. */
  set?: Readonly<Record<string, string>>;
  /** Part of the opening of a session: the tools of these names must ask as well. */
  meta?(tools: readonly string[]): JsonFields;
}

/** How a known agent is started, and what of it differs from the protocol. */
export interface KnownAgent {
  command: string;
  args: readonly string[];
  /** Variables that it is given. */
  set?: Readonly<Record<string, string>>;
  /** Mode of its sessions inside the host's walls, where none is set. */
  contained_mode?: string;
  asking?: Asking;
  /** A file that is not there is read as an empty one: the agent takes the protocol's error for a failure of its tool. */
  missing_file_is_empty?: boolean;
  /** Instruction for a user whose login is missing. */
  next_step: string;
}

/** Overrides what the settings of opencode and of kilo, which is made of it, allow. */
const asksAll = JSON.stringify({ edit: "ask", bash: "ask", external_directory: "ask" });

/** Agents of the npm registry that speak the protocol, by the name that the option `agent` takes. */
export const knownAgents: ReadonlyMap<string, KnownAgent> = new Map<string, KnownAgent>([
  ["claude", {
    command: "claude-agent-acp",
    args: [],
    // Ten tries of its own take minutes in which it tells nothing, and no other agent can take over.
    set: { CLAUDE_CODE_MAX_RETRIES: "2" },
    // Else commands that only read do not ask, and what its user's settings allow.
    asking: {
      meta: (tools) => {
        const ask = ["Bash", "Edit", "Write", "NotebookEdit", ...tools];
        return { claudeCode: { options: { settings: { permissions: { ask } } } } };
      },
    },
    next_step: "Log in with claude, or set ANTHROPIC_API_KEY.",
  }],
  ["codex", {
    command: "codex-acp",
    args: [],
    // Its other modes start a sandbox for every command, which cannot start inside the walls.
    contained_mode: "agent-full-access",
    asking: { mode: "read-only" },
    next_step: "Run codex login, or set CODEX_API_KEY.",
  }],
  ["gemini", {
    command: "gemini",
    args: ["--acp"],
    missing_file_is_empty: true,
    next_step: "Log in with gemini, or set GEMINI_API_KEY.",
  }],
  ["opencode", {
    command: "opencode",
    args: ["acp"],
    // The program replaces itself by a newer one unless it is told not to, and would not be what was granted.
    set: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    asking: { set: { OPENCODE_PERMISSION: asksAll } },
    next_step: "Run opencode auth login.",
  }],
  ["qwen", {
    command: "qwen",
    args: ["--acp"],
    next_step: "Log in with qwen.",
  }],
  ["copilot", {
    command: "copilot",
    args: ["--acp"],
    next_step: "Run copilot login, or set COPILOT_PROVIDER_BASE_URL and COPILOT_MODEL.",
  }],
  ["kimi", {
    command: "kimi",
    args: ["acp"],
    // As above: it would not be the program that was granted.
    set: { KIMI_CODE_NO_AUTO_UPDATE: "1" },
    next_step: "Run kimi login, or set KIMI_MODEL_NAME and KIMI_MODEL_API_KEY.",
  }],
  ["droid", {
    command: "droid",
    args: ["exec", "--output-format", "acp"],
    set: { FACTORY_DROID_AUTO_UPDATE_ENABLED: "false" },
    next_step: "Log in with droid, or set FACTORY_API_KEY.",
  }],
  ["cline", {
    command: "cline",
    args: ["--acp"],
    next_step: "Run cline auth, or set CLINE_API_KEY and CLINE_PROVIDER.",
  }],
  ["kilo", {
    command: "kilo",
    args: ["acp"],
    set: { KILO_DISABLE_AUTOUPDATE: "1" },
    // Its mode "ask" answers questions, and refuses all work.
    asking: { mode: "code", set: { KILO_PERMISSION: asksAll } },
    next_step: "Run kilo auth login.",
  }],
]);
