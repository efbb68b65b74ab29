import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { withinJournal } from "../../ground/config/journal-size.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { hostManifestError } from "../../ground/config/host-manifest-places.ts";
import { defaultOsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { blockOf } from "./blocked-plugins.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { requestedPermissions } from "../permissions/requested-permissions.ts";
import { toolFaults } from "../manifest/tool-faults.ts";

/**
 * Returns the plugin that a tool in the host manifest stands for. The operator wrote it, so all that it asks for is
 * granted; its `grant` adds to the permission to run its own program.
 * @throws {BulkheadError} `invalid_config` with file, line and column
 */
export function inlineTool(manifest: HostManifest, id: string, root: string): Plugin {
  const { grant, description = "A tool of the host manifest.", output_schema, expose, ...cli } = manifest.tools[id]!;
  const own: Manifest = {
    manifest: 1,
    id,
    name: id,
    version: "0.0.0",
    description,
    license: "UNLICENSED",
    host: "*",
    adapter_type: "cli",
    cli,
    capabilities: {},
    permissions: grant,
    ...omitUndefined({ output_schema, expose }),
  };
  const faults = [...toolFaults(own)].map(({ path, ...fault }) => ({
    ...fault,
    path: ["tools", id, ...path.slice(1)],
  }));
  if (faults.length > 0) throw hostManifestError(manifest, faults);
  const blocked = blockOf(manifest, { id, packageId: id, version: own.version, packageName: null });
  return {
    id,
    manifest: own,
    folder: root,
    origin: "inline",
    enabled: blocked === null,
    ...(blocked === null ? {} : { blocked }),
    trusted: false,
    trust_tools: false,
    isolation: "process",
    grant: requestedPermissions(own),
    deny: {},
    config: {},
    limits: withinJournal({ ...defaultLimits, ...manifest.limits }, manifest.journal),
    os_walls: { ...defaultOsWallUses, ...manifest.os_walls },
  };
}
