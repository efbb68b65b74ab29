import { isPinned, newPin } from "../../../walls/broker/resolve-binary.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../../plugin-sdk/manifest.ts";
import { hostEnv } from "../../../ground/runtime/platform.ts";
import type { Plugin } from "../../../packages/registry/plugin.ts";
import { requestedWith } from "../../../packages/registry/requested-permissions.ts";

/** An agent of this machine that a plugin can drive. */
export interface FoundAgent {
  plugin: Pick<Plugin, "id" | "manifest" | "folder" | "enabled" | "grant" | "origin" | "os_walls">;
  /** Path of its program; null for an agent without one. */
  program: string | null;
  /** The variable of the environment that holds its key; null when there is none. */
  key: string | null;
}

/**
 * Finds the agents that are on this machine: their program is on the PATH or their key in the environment. Starts
 * nothing.
 */
export async function findAgents(plugins: readonly Plugin[], { cwd }: { cwd: string }): Promise<FoundAgent[]> {
  const found = await Promise.all(plugins.map((plugin) => findAgent(plugin, cwd)));
  return found.flatMap((agent) => agent ?? []);
}

/** Names the one program that a manifest starts; null for none, and for an adapter of several agents. */
export function programOf(manifest: Manifest): string | null {
  const names = (requestedWith(manifest, {}).run ?? []).map(({ binary }) => binary).filter(isPinned);
  return new Set(names).size === 1 ? names[0]! : null;
}

async function findAgent(plugin: Plugin, cwd: string): Promise<FoundAgent | null> {
  const { manifest, origin } = plugin;
  // A package of the project's own is no agent that is installed here.
  if (manifest.adapter_type === "tool" || origin === "inline" || needsOptions(manifest)) return null;
  const key = keyOf(manifest);
  const name = programOf(manifest);
  if (name === null) return manifest.adapter_type === "model" && key !== null ? { plugin, program: null, key } : null;
  const program = await pathOf(name, cwd);
  return program === null ? null : { plugin, program, key };
}

/** An agent that works only once an option is set cannot be set up without asking for it. */
function needsOptions({ config }: Manifest): boolean {
  return (config?.required?.length ?? 0) > 0;
}

function keyOf({ access_modes = [] }: Manifest): string | null {
  const names = access_modes.flatMap((mode) => mode.type === "api" ? mode.api_key_env_var ?? [] : []);
  return names.find((name) => (hostEnv(name) ?? "") !== "") ?? null;
}

async function pathOf(binary: string, cwd: string): Promise<string | null> {
  try {
    const refuse = ({ because }: { because: string }) => new BulkheadError("permission_denied", `${because}.`);
    return (await newPin(binary, { workdir: cwd, writable: [cwd], refuse })).path;
  } catch (error) {
    if (error instanceof BulkheadError) return null;
    throw error;
  }
}
