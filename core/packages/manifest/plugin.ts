import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { FileHashes } from "./installed-files.ts";
import type { OsWallUses } from "../../ground/platform/os-walls/os-wall.ts";

/** Kind of container of a plugin's workers. */
export type Isolation = "process" | "thread";

/** A plugin that was found and checked, with what the operator decided about it. */
export interface Plugin {
  /** Its key in the host manifest. `manifest.id` is that of its package, and another one where this is an instance. */
  id: string;
  manifest: Manifest;
  /** Real absolute path of the package folder; for an inline tool the host manifest's folder. */
  folder: string;
  /** Path by which it was found, where that leads to its folder by a link. */
  place?: string;
  origin: "bundled" | "folder" | "installed" | "inline" | "registered";
  enabled: boolean;
  /** Why it is not enabled although the host manifest lists it: a line there blocks it. */
  blocked?: string;
  trusted: boolean;
  /** Its agent's tool use is approved without asking: its manifest asks for that, and the operator granted it. */
  trust_tools: boolean;
  isolation: Isolation;
  /** The operator's grants, as written. */
  grant: Permissions;
  deny: Permissions;
  /** Values for the manifest's `config`, checked, defaults filled in. */
  config: Record<string, unknown>;
  /** Values of those options that must not be shown. */
  hidden_texts?: readonly string[];
  limits: Limits;
  /** The operator's choice for each mechanism of the operating system. */
  os_walls: OsWallUses;
  /** Agent whose settings its contained programs have, as the operator says. */
  settings_of?: string;
  /** Hashes of an installed plugin's files, as they are locked: nothing else is evaluated. */
  hashes?: FileHashes;
}

/** The one script of a plugin: what is hashed is what is evaluated. */
export interface PluginScript {
  text: string;
  /** Hex SHA-256 of the UTF-8 bytes of `text`. */
  sha256: string;
  /** Rewrites positions in the script to positions in the author's files, for error texts. */
  mapStack(stack: string): string;
  /** The first of the modules that it was made of, as its source map names them: relative to the package, or by a package's name. */
  sources(): readonly string[];
}
