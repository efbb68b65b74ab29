import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { HostManifest, PluginSettings } from "../../ground/config/host-manifest.ts";
import { unsaid } from "../../ground/config/host-manifest.ts";
import { withinJournal } from "../../ground/config/journal-size.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { defaultOsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { hostManifestProblem, isHiddenValue, isReferred } from "../../ground/config/host-manifest-places.ts";
import { blockOf } from "./blocked-plugins.ts";
import type { FoundPlugin } from "../manifest/find-plugins.ts";
import { joinPermissions } from "../manifest/join-permissions.ts";
import { chosenPermissions } from "../manifest/option-permissions.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { checkPluginConfig, type OptionFault } from "../manifest/plugin-config.ts";
import { hiddenTexts } from "../permissions/shown-permissions.ts";

/** The operator's settings for a plugin that is registered at run time. */
export interface RegistrySettings extends
  Partial<
    Pick<
      PluginSettings,
      "trusted" | "trust_tools" | "isolation" | "grant" | "deny" | "config" | "limits" | "os_walls" | "settings_of"
    >
  > {
  /** Id of an instance; default: the id in the package's manifest. */
  id?: string;
}

/**
 * Combines a found plugin with the operator's settings for it.
 * @throws {BulkheadError} `invalid_config` for options its manifest does not allow, and for a thread without trust
 */
export function settlePlugin(
  { id, folder, place, origin, hashes, packageName = null }: FoundPlugin,
  own: Plugin["manifest"],
  { manifest, settings }: { manifest: HostManifest; settings: PluginSettings },
): Plugin {
  const { trusted, isolation, grant, deny } = settings;
  const blocked = blockOf(manifest, { id, packageId: own.id, version: own.version, packageName });
  const enabled = settings.enabled && blocked === null;
  if (isolation === "thread" && !trusted) throw untrusted(id);
  const checkConfig = () =>
    checkPluginConfig(own.config, settings.config, {
      where: (fault) => optionPlace(manifest, id, fault),
      hides: (option) => isHiddenValue(manifest, ["plugins", id, "config", option]),
      isText: (option) => isReferred(manifest, ["plugins", id, "config", option]),
    });
  // A plugin that is not enabled may still lack options that it requires.
  const config = enabled ? checkConfig() : settings.config;
  const limits = withinJournal({ ...defaultLimits, ...manifest.limits, ...settings.limits }, manifest.journal);
  const os_walls = { ...defaultOsWallUses, ...manifest.os_walls, ...settings.os_walls };
  const trust_tools = settings.trust_tools === true;
  const hidden_texts = hiddenTexts(manifest, id, config);
  return {
    id,
    manifest: own.permissions || own.permissions_for ? { ...own, permissions: chosenPermissions(own, config) } : own,
    folder,
    origin,
    enabled,
    trusted,
    trust_tools,
    isolation,
    grant,
    deny,
    config,
    limits,
    os_walls,
    ...omitEmpty({ blocked: blocked ?? undefined, hidden_texts }),
    ...omitUndefined({ hashes, place, settings_of: settings.settings_of }),
  };
}

/** The host manifest's settings for an id with those given at run time; what either denies is denied. */
export function registeredSettings(
  manifest: HostManifest,
  id: string,
  { id: _, ...settings }: RegistrySettings,
): PluginSettings {
  const listed = Object.hasOwn(manifest.plugins, id) ? manifest.plugins[id]! : unsaid();
  return { ...listed, ...settings, deny: joinPermissions([listed.deny, settings.deny ?? {}]), enabled: true };
}

function untrusted(id: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot run plugin "${id}" in a thread: it is not trusted.`, {
    hint: "Say trusted: true as well, or leave isolation at process.",
  });
}

function optionPlace(manifest: HostManifest, id: string, { option, of, expected, found }: OptionFault): string {
  const place = hostManifestProblem(manifest, { path: ["plugins", id, "config", option], of, expected, found });
  return `${place.file}:${place.line}:${place.column} ${place.path}`;
}
