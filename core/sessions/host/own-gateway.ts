import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { SettingsGateway } from "../../../plugin-sdk/manifest.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { basename, isAbsolute, isInside, join } from "../../ground/platform/files/paths.ts";
import { readPlainText } from "../../ground/platform/files/read-plain-file.ts";
import { agentPlaces, agentPrograms } from "../../ground/platform/places/key-places.ts";
import { requestedWith } from "../../packages/permissions/requested-permissions.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";

/** Settings beyond this are no file that a person writes. Bytes. */
const maxBytes = 256 * 1024;

/**
 * Corrects the report of an agent that is not logged in, and whose own settings send it to a gateway: a provider that
 * takes a key from a variable, or none, needs no login. Returns the same report where they do not.
 */
export async function withOwnGateway(
  report: AvailabilityReport,
  plugin: Pick<Plugin, "manifest" | "config">,
): Promise<AvailabilityReport> {
  if (report.availability !== "unauthenticated") return report;
  const gateway = await ownGateway(plugin);
  return gateway === null ? report : withGateway(report, gateway);
}

/** The gateway of the person's own to which an agent's settings send it. */
interface OwnGateway {
  key: string | null;
  file: string;
  program: RunPermission;
}

/** Returns null where the settings leave the agent at its login. */
export async function ownGateway(
  { manifest, config }: Pick<Plugin, "manifest" | "config">,
): Promise<OwnGateway | null> {
  const { run = [] } = requestedWith(manifest, config);
  for (const settings of manifest.gateways ?? []) {
    const program = run.find(({ binary }) => binary === settings.program);
    const file = program && fileOf(settings);
    if (program === undefined || file === undefined) continue;
    const key = gatewayKey(await textOf(file), settings);
    if (key !== undefined) return { key, file, program };
  }
  return null;
}

/**
 * Text of the settings does not get into the sentence: a manifest chooses which of their values these are. A variable's name
 * does where the manifest names the variable itself.
 */
function withGateway(
  report: AvailabilityReport,
  { key, file, program }: OwnGateway,
): AvailabilityReport {
  const { next_step: _, ...told } = report;
  const named = `${file} sends it to a provider of your own`;
  if (key === null) return { ...told, availability: "available", reason: `${named}, which asks for no login.` };
  if (!(program.env ?? []).includes(key)) {
    const handed = (program.env ?? []).join(", ") || "no variable";
    const next_step = `Name one of these as the variable of its key: ${handed}. Others do not reach ${program.binary}.`;
    return { ...told, reason: `${named}, with its key in a variable that does not reach the program.`, next_step };
  }
  if (!hostEnv(key)) {
    return { ...told, reason: `${named}, with the key in $${key}, which is not set.`, next_step: `Set ${key}.` };
  }
  return { ...told, availability: "available", reason: `${named}, with the key in $${key}.` };
}

/** The text of a file that may be a link: folders of dotfiles are made of them. */
async function textOf(file: string): Promise<string> {
  try {
    return await readPlainText(await realpath(file), maxBytes) ?? "";
  } catch {
    return "";
  }
}

/** Undefined for a file, or a variable of its folder, that is not of the program's own settings: a manifest may name anything. */
function fileOf({ program, file, folder }: SettingsGateway): string | undefined {
  const tool = agentPrograms[program] ?? program;
  const places = Object.hasOwn(agentPlaces, tool) ? agentPlaces[tool] ?? [] : [];
  const isOwn = places.some((place) => isInside(place, file)) && !file.split("/").includes("..");
  if (!isOwn || folder !== undefined && !folder.startsWith(`${tool.toUpperCase().replaceAll("-", "_")}_`)) return;
  const named = folder === undefined ? undefined : hostEnv(folder);
  return named && isAbsolute(named) ? join(named, basename(file)) : join(hostEnv("HOME") ?? "/", file);
}

/**
 * The variable of the key of the provider that settings choose, null where it asks for none; undefined where they leave it
 * at the login.
 */
function gatewayKey(toml: string, { chosen, providers, key, login }: SettingsGateway): string | null | undefined {
  const tables = tablesOf(toml);
  const top = tables.get("") ?? {};
  const profile = top["profile"] === undefined ? {} : tables.get(`profiles.${top["profile"]}`) ?? {};
  const provider = profile[chosen] ?? top[chosen];
  const own = provider === undefined ? undefined : tables.get(`${providers}.${provider}`);
  // Without a table of its own it is one that the program brings along, which has its login.
  if (own === undefined || login !== undefined && own[login] === "true") return;
  return own[key] ?? null;
}

/** Plain values of a TOML text, by the dotted name of their table: enough for a person's settings, and no more. */
function tablesOf(toml: string): Map<string, Record<string, string>> {
  const tables = new Map<string, Record<string, string>>();
  let name = "";
  for (const line of toml.split("\n")) {
    const head = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line);
    if (head !== null) name = (head[1] ?? "").split(".").map((part) => unquoted(part.trim())).join(".");
    const [, key, value] = /^\s*([\w-]+|"[\w-]+")\s*=\s*("[^"]*"|'[^']*'|[\w.-]+)\s*(?:#.*)?$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    const table = tables.get(name) ?? {};
    tables.set(name, table);
    table[unquoted(key)] = unquoted(value);
  }
  return tables;
}

function unquoted(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}
