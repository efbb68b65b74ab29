import type { CliTool } from "../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { OsWallUses } from "../runtime/os-walls/os-wall.ts";
import type { Limits } from "./limits.ts";

/** What the operator says about one plugin. */
export interface PluginSettings {
  enabled: boolean;
  /** Folder of the package, relative to the host manifest; absent: found by id. */
  source?: string;
  trusted: boolean;
  isolation: "process" | "thread";
  grant: Permissions;
  deny: Permissions;
  limits: Partial<Limits>;
  /** Which mechanisms of the operating system hold this plugin; over those for all. */
  os_walls?: Partial<OsWallUses>;
  config: Record<string, unknown>;
}

/** The host manifest, `bulkhead.yaml`, with defaults filled in. */
export interface HostManifest {
  bulkhead: 1;
  plugins: Record<string, PluginSettings>;
  /** Tools added without a plugin package; each becomes a plugin of that id. */
  tools: Record<string, CliTool & { grant: Permissions }>;
  /** Where secrets are: name → `stored` (as are those not named here), `env:NAME` or `file:/absolute/path`. */
  secrets?: Record<string, string>;
  routing: { agent: string | string[] };
  /** Limits for every plugin. */
  limits: Partial<Limits>;
  /** Mechanisms of the operating system for every plugin. */
  os_walls?: Partial<OsWallUses>;
  state_dir?: string;
  /** Absolute path of the file this came from; absent when made by a program. */
  file?: string;
}
