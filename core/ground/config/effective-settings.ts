import { defaultPromptSettings } from "../prompt/prompt-settings.ts";
import { defaultOsWallUses } from "../platform/os-walls/os-wall.ts";
import { defaultDaemonSettings } from "./daemon-settings.ts";
import { isSecretName } from "./hidden-values.ts";
import { defaultKeepMs, type HostManifest } from "./host-manifest.ts";
import { originOf, type ValueOrigin } from "./host-manifest-places.ts";
import { withinJournal } from "./journal-size.ts";
import { defaultLimits } from "./limits.ts";
import { type KeyPath, pathText } from "./yaml-problems.ts";

/** One setting that is in force. */
interface EffectiveSetting {
  /** Path of its key, as a person writes it. */
  key: string;
  /** JSON; `hidden` for what may be a secret. */
  value: unknown;
  hidden: boolean;
  origin: ValueOrigin;
}

/** Every setting of a host with what is in force and where it comes from. */
export function effectiveSettings(manifest: HostManifest): EffectiveSetting[] {
  const {
    plugins,
    tools,
    blocked = [],
    secrets = {},
    mcp_servers = {},
    budgets = {},
    journal = {},
    routing,
    approval = "ask",
    state_dir = null,
  } = manifest;
  const whole = {
    plugins,
    tools,
    blocked,
    secrets,
    mcp_servers,
    routing,
    approval,
    prompt: { ...defaultPromptSettings, ...manifest.prompt },
    budgets,
    limits: withinJournal({ ...defaultLimits, ...manifest.limits }, manifest.journal),
    os_walls: { ...defaultOsWallUses, ...manifest.os_walls },
    state_dir,
    journal,
    workspaces: { keep_ms: manifest.workspaces?.keep_ms ?? defaultKeepMs },
    daemon: { ...defaultDaemonSettings, ...manifest.daemon },
  };
  return [...leaves(whole, [])].map(({ path, value }) => settingOf(manifest, path, value));
}

function settingOf(manifest: HostManifest, path: KeyPath, value: unknown): EffectiveSetting {
  const origin = originOf(manifest, path);
  const key = pathText(path);
  const isOption = path[0] === "plugins" && path[2] === "config";
  const hidden = isOption && (origin.from === "environment" || isSecretName(path.slice(3).join(".")));
  return { key, value: hidden ? "hidden" : value, hidden, origin };
}

function* leaves(value: unknown, path: KeyPath): Generator<{ path: KeyPath; value: unknown }> {
  const isTree = typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  // A plugin's grants and a tool belong together.
  const isWhole = (path[0] === "plugins" && (path[2] === "grant" || path[2] === "deny")) ||
    (path[0] === "tools" && path.length === 2);
  if (!isTree || isWhole) return yield { path, value };
  for (const [key, inner] of Object.entries(value)) yield* leaves(inner, [...path, key]);
}
