import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isHiddenPlace } from "./hidden-values.ts";
import type { HostManifest } from "./host-manifest.ts";
import { type KeyPath, pathText, type Problem, problemsError } from "./yaml-problems.ts";
import type { ParsedYaml } from "./yaml.ts";

/** Positions of values in host manifests that were read from text; kept outside them, so that they stay plain data. */
const sources = new WeakMap<HostManifest, ManifestPlaces>();

/** Positions of values, and the variables they were made of. */
export interface ManifestPlaces extends Pick<ParsedYaml, "file" | "source" | "value" | "locate"> {
  /** Names of the environment variables that a value was made of, by the path of its key. */
  references: ReadonlyMap<string, readonly string[]>;
}

/** Stores the positions of a host manifest's values in its text. */
export function rememberPlaces(manifest: HostManifest, parsed: ManifestPlaces): void {
  sources.set(manifest, parsed);
}

/** Returns the positions of a host manifest's values; undefined for one that a program made. */
export function placesOf(manifest: HostManifest): ManifestPlaces | undefined {
  return sources.get(manifest);
}

/** Something wrong at a path of a host manifest. */
export interface HostManifestFault extends Pick<Problem, "expected" | "found" | "says" | "hint"> {
  path: KeyPath;
  of?: "value" | "key" | undefined;
}

/** Makes one `invalid_config` of faults, with their places and lines. */
export function hostManifestError(manifest: HostManifest, faults: readonly HostManifestFault[]): BulkheadError {
  const problems = faults.map((fault) => hostManifestProblem(manifest, fault));
  return problemsError("invalid_config", problems, sources.get(manifest)?.source);
}

/** Makes a problem at a place of a host manifest; a manifest made by a program has no lines, so its kind is named. */
export function hostManifestProblem(manifest: HostManifest, fault: HostManifestFault): Problem {
  const { path, of = "value", ...words } = fault;
  const parsed = sources.get(manifest);
  const place = parsed?.locate(path, of) ?? { line: 1, column: 1 };
  return { file: parsed?.file ?? manifest.file ?? "host manifest", ...place, path: pathText(path), ...words };
}

/** True when the value at a path must not be shown: it is or may be a secret, or came out of the environment. */
export function isHiddenValue(manifest: HostManifest, path: KeyPath): boolean {
  return isHiddenPlace(pathText(path), sources.get(manifest)?.references ?? new Map());
}

/** True when the value at a path was made of environment variables. */
export function isReferred(manifest: HostManifest, path: KeyPath): boolean {
  return sources.get(manifest)?.references.has(pathText(path)) === true;
}

/** Position of a grant of this kind, or of the section to add it to; null for a manifest that a program made. */
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

/** Source of a value. */
export type ValueOrigin =
  | { from: "default" }
  | { from: "file"; file: string; line: number; column: number }
  | { from: "environment"; names: readonly string[]; file: string; line: number; column: number };

/** Returns the source of the value at a path: the text, the environment by a reference in the text, or the defaults. */
export function originOf(manifest: HostManifest, path: KeyPath): ValueOrigin {
  const parsed = sources.get(manifest);
  if (parsed === undefined || !isWritten(parsed.value, path)) return { from: "default" };
  const place = { file: parsed.file, ...parsed.locate(path) };
  const key = pathText(path);
  const names = [...parsed.references].filter(([at]) =>
    at === key || at.startsWith(`${key}.`) || at.startsWith(`${key}[`)
  );
  if (names.length === 0) return { from: "file", ...place };
  return { from: "environment", names: [...new Set(names.flatMap(([, all]) => all))], ...place };
}

function isWritten(value: unknown, path: KeyPath): boolean {
  const [key, ...rest] = path;
  if (key === undefined) return true;
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) &&
    isWritten(Reflect.get(value, key), rest);
}
