/** A place of an agent's records. */
export interface AgentRecord {
  /**
   * Path below the home. `{dashes}` is the working directory with a dash for everything but letters and digits; `{slug}` is
   * the folder that names the working directory in its `.project_root`.
   */
  at: string;
  /** Names in it that are no records: the agent gets copies of the session's own, or empty folders. */
  without?: readonly string[];
  /** Names in it that hold programs: the agent reads them. */
  readOnly?: readonly string[];
}

/** Folders of OpenCode and its kin: git and programs are run in these, the rest is a database and its attachments. */
const besidesDatabase = {
  without: ["repos", "snapshot", "worktree", "plugin", "plugins"],
  readOnly: ["bin", "node_modules"],
};

/**
 * Records that an agent writes in the real home: its conversations, so that they can be continued. Everything that is not here
 * is a copy. By the name that `agentPlaces` has. An agent that sorts its conversations by project gets those of its
 * project alone; the others keep all in one folder or database.
 */
export const agentRecords: Readonly<Record<string, readonly AgentRecord[]>> = {
  "amp": [{ at: ".local/share/amp/threads" }],
  // What lies beside the conversations as `memory` is read at each start.
  "claude": [{ at: ".claude/projects/{dashes}", without: ["memory"] }],
  "cline": [{ at: ".cline/data/tasks" }, { at: ".cline/data/sessions" }],
  "codex": [{ at: ".codex/sessions" }],
  "continue": [{ at: ".continue/sessions" }],
  "copilot": [{ at: ".copilot/session-state" }],
  "factory": [{ at: ".factory/sessions" }],
  // Beside `{slug}` stands `bin`, with programs.
  "gemini": [{ at: ".gemini/tmp/{slug}/chats" }],
  "goose": [{ at: ".local/share/goose/sessions" }],
  "kilo": [{ at: ".local/share/kilo", ...besidesDatabase }],
  "kimi": [{ at: ".kimi-code/sessions" }, { at: ".kimi/sessions" }],
  // A database's journal must stand beside it, so that it takes the folder.
  "opencode": [{ at: ".local/share/opencode", ...besidesDatabase }],
  "pi": [{ at: ".pi/agent/sessions" }],
  "qwen": [{ at: ".qwen/projects/{dashes}/chats" }],
};

/**
 * Files of logins that an agent renews while it runs: a copy would log the person out. They hold nothing else. Keys that are
 * never renewed are copied like settings.
 */
export const agentLogins: Readonly<Record<string, readonly string[]>> = {
  "amp": [".local/share/amp/secrets.json"],
  "augment": [".augment/session.json"],
  "claude": [".claude/.credentials.json"],
  "cline": [".cline/data/secrets.json"],
  "codex": [".codex/auth.json"],
  "cursor": [".config/cursor/auth.json"],
  "factory": [".factory/auth.json", ".factory/auth.encrypted", ".factory/auth.v2.file"],
  "gemini": [".gemini/oauth_creds.json", ".gemini/mcp-oauth-tokens.json"],
  "kimi": [".kimi/credentials/kimi-code.json", ".kimi-code/credentials/kimi-code.json"],
  "pi": [".pi/agent/auth.json"],
  "qwen": [".qwen/oauth_creds.json"],
};

/** Files that hold a login beside settings: a copy, of which these fields are written back. */
export const mixedLogins: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "claude": { ".claude.json": ["oauthAccount", "userID"] },
};

/** Settings folders of agents, below the home, for which a variable may name another one; else the first of `agentPlaces`. */
export const namedFolders: Readonly<Record<string, string>> = {
  "pi": ".pi/agent",
  "opencode": ".config/opencode",
};
