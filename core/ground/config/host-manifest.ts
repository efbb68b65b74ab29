import type { JournalSync } from "./journal-sync.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { CliTool, Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Approval } from "../../../plugin-sdk/request.ts";
import type { PromptSettings } from "../prompt/prompt-settings.ts";
import type { OsWallUses } from "../platform/os-walls/os-wall.ts";
import type { BudgetSettings } from "./budget-settings.ts";
import type { ClusterSettings } from "./cluster-settings.ts";
import type { DaemonSettings } from "./daemon-settings.ts";
import type { Limits } from "./limits.ts";
import type { NotifySettings } from "./notify-settings.ts";
import type { TelemetrySettings } from "./telemetry-settings.ts";
import type { McpServer } from "./mcp-server.ts";

/** The operator's settings for one plugin. */
export interface PluginSettings {
  enabled: boolean;
  /**
   * Folder of the package, relative to the host manifest, or the id of another plugin, of which this one is an instance
   * then; absent: found by id.
   */
  source?: string;
  trusted: boolean;
  /** Approves each tool use of this plugin's agent without asking. */
  trust_tools?: boolean;
  isolation: "process" | "thread";
  grant: Permissions;
  deny: Permissions;
  limits: Partial<Limits>;
  /** Mechanisms of the operating system for this plugin; they override those for all plugins. */
  os_walls?: Partial<OsWallUses>;
  /** Agent whose settings, login and records the plugin's contained programs have besides those of their own name. */
  settings_of?: string;
  config: Record<string, unknown>;
}

/** Plugins that are never used: those with this id, with this npm package, or with both where both are set. */
export interface BlockedPlugin {
  plugin?: string;
  package?: string;
  /** A semver range; absent: every version. */
  versions?: string;
  /** Reason that the host shows. */
  because?: string;
}

/** How long the worktree of a session that has ended is kept: 30 days. */
export const defaultKeepMs: number = 30 * 24 * 3_600_000;

/** Settings of a plugin that the host manifest does not name. */
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
  /** Capabilities that an agent chosen by `auto` or a chain must have. */
  require?: AgentCapabilities;
  /** Time for which a probe's result is valid, in milliseconds. */
  availability_ttl_ms?: number;
}

/** A tool without a package: the keys of a package's `cli`, and some of its manifest. */
export type InlineTool =
  & CliTool
  & Partial<Pick<Manifest, "description" | "output_schema" | "expose">>
  & { grant: Permissions };

/** The host manifest, `bulkhead.yaml`, with defaults filled in. */
export interface HostManifest {
  bulkhead: 1;
  plugins: Record<string, PluginSettings>;
  /** Tools added without a plugin package; each becomes a plugin of that id. */
  tools: Record<string, InlineTool>;
  /** Plugins that are never installed or loaded; overrides every other setting. */
  blocked?: BlockedPlugin[];
  /** Sources of secrets: name → `stored` (the default), `env:NAME` or `file:/absolute/path`. */
  secrets?: Record<string, string>;
  /** MCP servers for agents, by the names with which requests ask for them. */
  mcp_servers?: Record<string, McpServer>;
  /** Selects the agent of a session that names none. */
  routing: Routing;
  /** Answer to an agent's permission requests where the session sets none; default `ask`. */
  approval?: Approval;
  /** How prompts are enhanced. */
  prompt?: Partial<PromptSettings>;
  /** Budgets that sessions share, by their names. */
  budgets?: Record<string, BudgetSettings>;
  /** Limits for every plugin. */
  limits: Partial<Limits>;
  /** Mechanisms of the operating system for every plugin. */
  os_walls?: Partial<OsWallUses>;
  state_dir?: string;
  /** Retention of ended sessions in the journal, and which failures an event survives once a client has seen it. */
  journal?: { keep_ms?: number; max_bytes?: number; sync?: JournalSync };
  /** Retention of sessions' worktrees. */
  workspaces?: { keep_ms: number };
  /** How the daemon is run. */
  daemon?: Partial<DaemonSettings>;
  /** The collector of traces and metrics of sessions; absent: none. */
  telemetry?: TelemetrySettings;
  /** How a person is called when something waits; absent: not at all. */
  notify?: NotifySettings;
  /** How the daemon works with those of other machines; absent: it is alone. */
  cluster?: ClusterSettings;
  /** Why entries of `plugins` or `tools` cannot be used, by id. One wrong entry costs its own plugin alone. */
  left_out?: Record<string, ErrorData>;
  /** Absolute path of the file this came from; absent when made by a program. */
  file?: string;
}
