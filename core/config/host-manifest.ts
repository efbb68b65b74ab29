import type { CliTool } from "../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
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
  config: Record<string, unknown>;
}

/** The host manifest, `bulkhead.yaml`, with defaults filled in. */
export interface HostManifest {
  bulkhead: 1;
  plugins: Record<string, PluginSettings>;
  /** Tools added without a plugin package; each becomes a plugin of that id. */
  tools: Record<string, CliTool & { grant: Permissions }>;
  routing: { agent: string | string[] };
  /** Limits for every plugin. */
  limits: Partial<Limits>;
  state_dir?: string;
  /** Absolute path of the file this came from; absent when made by a program. */
  file?: string;
}
