import { fieldsOrNone, parseJson, stringOf } from "../../../plugin-sdk/json-fields.ts";
import satisfies from "semver/functions/satisfies.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { BlockedPlugin, HostManifest } from "../../ground/config/host-manifest.ts";
import { hostManifestProblem } from "../../ground/config/host-manifest-places.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** The facts about a plugin that the operator's list of blocked plugins is compared with. */
export interface Blockable {
  id: string;
  /** Id in the package's own manifest: blocking it blocks all its instances. */
  packageId: string;
  version: string;
  /** As its `package.json` says; null: it has none. */
  packageName: string | null;
}

/**
 * Which line of the host manifest blocks a plugin, in words, as `bulkhead.yaml:4 blocks every version of plugin "a"`;
 * null: none does.
 */
export function blockOf(manifest: HostManifest, { id, packageId, version, packageName }: Blockable): string | null {
  const { blocked = [] } = manifest;
  const index = blocked.findIndex((one) =>
    (one.plugin === undefined || one.plugin === id || one.plugin === packageId) &&
    (one.package === undefined || one.package === packageName) &&
    (one.versions === undefined || satisfies(version, one.versions, { includePrerelease: true }))
  );
  const found = blocked[index];
  if (found === undefined) return null;
  const { file, line } = hostManifestProblem(manifest, { path: ["blocked", index], expected: "", found: "" });
  return `${file}:${line} blocks ${inWords(found, version)}`;
}

/** The error for a plugin that is blocked: `why` is what {@link blockOf} said. */
export function blockedError(id: string, why: string): BulkheadError {
  return new BulkheadError("blocked_plugin", `Cannot use plugin "${id}": ${why}.`, {
    hint: "Take a version that is not blocked, or remove that line if it should hold no more.",
    details: { plugin_id: id, blocked: why },
  });
}

/** Whether anybody has to look for the names of packages. */
export function blocksPackages({ blocked = [] }: HostManifest): boolean {
  return blocked.some((one) => one.package !== undefined);
}

const mostBytes = 1024 * 1024;

/** The name that a plugin's package has on a registry; null where nothing tells one. */
export async function packageNameIn(folder: string): Promise<string | null> {
  const bytes = await readPlainFile(join(folder, "package.json"), mostBytes);
  return bytes === null ? null : packageNameOf(bytes);
}

/** The name in the bytes of a `package.json`. */
export function packageNameOf(bytes: Uint8Array): string | null {
  return stringOf(fieldsOrNone(parseJson(new TextDecoder().decode(bytes)))["name"]);
}

function inWords({ plugin, package: name, versions, because }: BlockedPlugin, version: string): string {
  const whose = name === undefined ? `plugin "${plugin}"` : `package ${name}`;
  const which = versions === undefined
    ? `every version of ${whose}`
    : `versions ${versions} of ${whose}, and this is ${version}`;
  return because === undefined ? which : `${which} (${because.replace(/\.$/, "")})`;
}
