import type { HostManifest } from "./host-manifest.ts";
import { type KeyPath, pathText, type Problem } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** Where host manifests that were read from text had their values; kept beside them, so that they stay plain data. */
const sources = new WeakMap<HostManifest, ParsedYaml>();

/** Keeps where the values of a host manifest stand in the text it was read from. */
export function rememberPlaces(manifest: HostManifest, parsed: ParsedYaml): void {
  sources.set(manifest, parsed);
}

/** A problem at a place of a host manifest; one that a program made has no lines, and then it is called by its kind. */
export function hostManifestProblem(
  manifest: HostManifest,
  fault: { path: KeyPath; of?: "value" | "key"; expected: string; found: string; hint?: string },
): Problem {
  const { path, of = "value", ...words } = fault;
  const parsed = sources.get(manifest);
  const place = parsed?.locate(path, of) ?? { line: 1, column: 1 };
  return { file: parsed?.file ?? manifest.file ?? "host manifest", ...place, path: pathText(path), ...words };
}

/** Where a grant of this kind stands, or else what it would be added to; null for a manifest that a program made. */
export function grantPlace(
  manifest: HostManifest,
  { pluginId, permission }: { pluginId: string; permission: string },
): { file: string; line: number } | null {
  const parsed = sources.get(manifest);
  if (parsed === undefined) return null;
  const list = Object.hasOwn(manifest.tools, pluginId) ? "tools" : "plugins";
  const { line } = parsed.locate([list, pluginId, "grant", permission], "key");
  return { file: manifest.file ?? parsed.file, line };
}
