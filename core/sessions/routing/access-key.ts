import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";

/** Keys of access modes that a session could not use, and why. */
export type MissingKeys = ReadonlyMap<string, KeyProblem["why"]>;

/** Stands for access modes that lack no key. */
export const noKeyMissing: MissingKeys = new Map();

/** Returns the name of the key that a mode needs; null where it needs none. */
function keyOf(mode: AccessMode): string | null {
  return mode.type === "api" ? mode.api_key_env_var ?? null : null;
}

/** Returns the names of the keys of all enabled modes. */
export function keyNames({ access_modes = [] }: Pick<Manifest, "access_modes">): string[] {
  return [...new Set(access_modes.filter(({ enabled }) => enabled).flatMap((mode) => keyOf(mode) ?? []))];
}

/** Whether a session's own variables hold the key of its agent's model, or name the place that it is sent to. */
export function bringsKey(
  manifest: Pick<Manifest, "access_modes" | "endpoints">,
  env: Readonly<Record<string, string>> = {},
): boolean {
  const { endpoints = [] } = manifest;
  const names = [...keyNames(manifest), ...endpoints.flatMap(({ key, base_url }) => [key, base_url])];
  return names.some((name) => env[name] !== undefined);
}

/** A key that a mode lacks: why, and how a person gives it. */
export interface KeyProblem {
  name: string;
  why: "no value" | "not granted";
  /** One sentence. */
  reason: string;
  /** One sentence. */
  next_step: string;
}

/** Returns what is wrong with the key of a plugin's mode; null for a mode that has its key or needs none. */
export function keyProblem(
  mode: AccessMode,
  { id, manifest: { permissions = {} } }: Pick<Plugin, "id" | "manifest">,
  missing: MissingKeys,
): KeyProblem | null {
  const name = keyOf(mode);
  const why = name === null ? undefined : missing.get(name);
  if (name === null || why === undefined) return null;
  const isSecret = permissions.secrets?.some((one) => one.name === name) === true;
  const reason = `Its api access needs the key ${name}, which ${
    why === "no value" ? "has no value" : "is not granted"
  }.`;
  const next_step = why === "not granted"
    ? `Grant it: "bulkhead plugin explain ${id}" shows how.`
    : isSecret
    ? `Run: bulkhead secret set ${name}`
    : `Set ${name} in the environment of the host, then start the host again.`;
  return { name, why, reason, next_step };
}
