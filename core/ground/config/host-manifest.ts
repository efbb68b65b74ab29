import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { CliTool } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Approval } from "../../../plugin-sdk/request.ts";
import type { PromptSettings } from "../prompt/prompt-settings.ts";
import type { OsWallUses } from "../runtime/os-walls/os-wall.ts";
import type { DaemonSettings } from "./daemon-settings.ts";
import type { Limits } from "./limits.ts";
import type { McpServer } from "./mcp-server.ts";

/** What the operator says about one plugin. */
export interface PluginSettings {
  enabled: boolean;
  /** Folder of the package, relative to the host manifest; absent: found by id. */
  source?: string;
  trusted: boolean;
  /** Grants a plugin whose manifest asks for it that its agent's tool use is approved without asking. */
  trust_tools?: boolean;
  isolation: "process" | "thread";
  grant: Permissions;
  deny: Permissions;
  limits: Partial<Limits>;
  /** Which mechanisms of the operating system hold this plugin; over those for all. */
  os_walls?: Partial<OsWallUses>;
  config: Record<string, unknown>;
}

/** Plugins that are never used: those of an id, of an npm package, or with both those that are both. */
export interface BlockedPlugin {
  plugin?: string;
  package?: string;
  /** A semver range; absent: every version. */
  versions?: string;
  /** What a person is told. */
  because?: string;
}

/** How long the worktree of a session that has ended is kept: 30 days. */
export const defaultKeepMs: number = 30 * 24 * 3_600_000;

/** Settings of a plugin about which the host manifest says nothing. */
export function unsaid(): PluginSettings {
  return {
    enabled: false,
    trusted: false,
    isolation: "process",
    grant: {},
    deny: {},
    limits: {},
    config: {},
  };
}

/** How an agent is chosen. */
export interface Routing {
  /** `auto`, one adapter's id, or ids in the order in which they are tried. */
  agent: string | string[];
  /** Adapters that `auto` tries first, in this order. */
  order?: string[];
  /** What an agent that `auto` or a chain comes to must be able to do. */
  require?: AgentCapabilities;
  /** How long what a probe found holds, in milliseconds. */
  availability_ttl_ms?: number;
}

/** The host manifest, `bulkhead.yaml`, with defaults filled in. */
export interface HostManifest {
  bulkhead: 1;
  plugins: Record<string, PluginSettings>;
  /** Tools added without a plugin package; each becomes a plugin of that id. */
  tools: Record<string, CliTool & { grant: Permissions }>;
  /** What is not installed and not loaded, whatever else is said of it. */
  blocked?: BlockedPlugin[];
  /** Where secrets are: name → `stored` (as are those not named here), `env:NAME` or `file:/absolute/path`. */
  secrets?: Record<string, string>;
  /** MCP servers for agents, by the names with which requests ask for them. */
  mcp_servers?: Record<string, McpServer>;
  /** Which agent takes a session that names none. */
  routing: Routing;
  /** How an agent's permission requests are answered where a session does not say; default `ask`. */
  approval?: Approval;
  /** How prompts are enhanced. */
  prompt?: Partial<PromptSettings>;
  /** Limits for every plugin. */
  limits: Partial<Limits>;
  /** Mechanisms of the operating system for every plugin. */
  os_walls?: Partial<OsWallUses>;
  state_dir?: string;
  /** How much of what has ended the journal keeps. */
  journal?: { keep_ms?: number; max_bytes?: number };
  /** What becomes of sessions' worktrees. */
  workspaces?: { keep_ms: number };
  /** How the daemon is run. */
  daemon?: Partial<DaemonSettings>;
  /** Absolute path of the file this came from; absent when made by a program. */
  file?: string;
}
