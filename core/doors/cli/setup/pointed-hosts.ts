import type { Manifest } from "../../../../plugin-sdk/manifest.ts";
import { readdir, readFile, stat } from "../../../ground/platform/files/files.ts";
import { formatTarget, netTarget, readUrl } from "../../../ground/config/net-target.ts";
import { agentPlaces, agentPrograms } from "../../../ground/platform/places/key-places.ts";
import { isAbsolute, join } from "../../../ground/platform/files/paths.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import { requestedWith } from "../../../packages/permissions/requested-permissions.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";

/** A host that the operator's own settings point a program to. */
export interface PointedHost {
  /** `host:port`. */
  host: string;
  /** The variable or the file that says so. */
  where: string;
}

/** Settings beyond this are no file that a person writes. */
const maxBytes = 256 * 1024;
const maxFiles = 64;
/** Settings in folders of an agent's place, by program. Others there are records, in which any address may stand. */
const deeperSettings: Readonly<Record<string, string>> = {
  pi: ".pi/agent/models.json",
  cline: ".cline/data/settings/providers.json",
};
const maxHosts = 8;
/** Variables of a program that name a file or a folder of settings. */
const namesSettings = /_CONFIG(?:_FILE|_PATH|_DIR)?$/;

/**
 * Finds the hosts that variables and settings point a plugin's programs to, beside those that its manifest knows: a
 * gateway of the company, or a model on this machine. Without their grant the first session would fail, at a server of
 * this machine even without a word on the grant: programs do not ask a proxy for those.
 */
export async function pointedHosts(plugin: Pick<Plugin, "manifest" | "config">): Promise<PointedHost[]> {
  const { run = [], net = [] } = requestedWith(plugin.manifest, plugin.config);
  const programs = [...new Set(run.map(({ binary }) => binary))];
  const own = (plugin.manifest.endpoints ?? []).filter(({ program }) => programs.includes(program));
  const byVariable = own.flatMap(({ base_url: variable }): PointedHost[] => {
    const host = hostOf(hostEnv(variable) ?? "");
    return host === null ? [] : [{ host, where: `$${variable}` }];
  });
  const bySettings = (await Promise.all(programs.map(serversInSettings))).flat();
  const variables = [...new Set(run.flatMap(({ env = [] }) => env))].filter((name) => namesSettings.test(name));
  const byNamed = (await Promise.all(variables.map(serversInNamed))).flat();
  const found = [...byVariable, ...byNamed, ...bySettings].filter(({ host }) => !net.includes(host));
  return found.filter(({ host }, index) => index === found.findIndex((other) => other.host === host)).slice(
    0,
    maxHosts,
  );
}

/** The manifest as if it had asked for these hosts as well. */
export function withHosts(manifest: Manifest, hosts: readonly PointedHost[]): Manifest {
  const { permissions = {} } = manifest;
  const net = [...permissions.net ?? [], ...hosts.map(({ host }) => host)];
  return hosts.length === 0 ? manifest : { ...manifest, permissions: { ...permissions, net } };
}

function hostOf(address: string): string | null {
  const url = /^https?:\/\//i.test(address) ? readUrl(address) : null;
  return url && formatTarget(netTarget(url));
}

/** Servers of this machine in an agent's own settings. */
async function serversInSettings(program: string): Promise<PointedHost[]> {
  const home = hostEnv("HOME");
  if (!home || !/^[\w.-]+$/.test(program)) return [];
  const places = agentPlaces[agentPrograms[program] ?? program] ?? [];
  const deeper = Object.hasOwn(deeperSettings, program) ? [deeperSettings[program]!] : [];
  const listed = (await Promise.all(places.map((place) => settingsIn(home, place)))).flat();
  const files = [...deeper, ...listed].slice(0, maxFiles);
  return (await Promise.all(files.map((file) => serversIn(join(home, file), `~/${file}`)))).flat();
}

/** Servers of this machine in the settings that a variable names instead of the agent's own. */
async function serversInNamed(variable: string): Promise<PointedHost[]> {
  const path = hostEnv(variable) ?? "";
  if (!isAbsolute(path)) return [];
  const inside = (await settingsIn(path, "")).slice(0, maxFiles);
  const files = [path, ...inside.map((name) => join(path, name))];
  return (await Promise.all(files.map((file) => serversIn(file, `$${variable}`)))).flat();
}

async function serversIn(file: string, where: string): Promise<PointedHost[]> {
  const urls = (await textOf(file)).match(/\bhttps?:\/\/(?:127\.0\.0\.1|localhost)(?::\d{1,5})?(?=[/"'\s]|$)/gm) ?? [];
  return urls.flatMap((url) => ({ host: hostOf(url) ?? "", where })).filter(({ host }) => host !== "");
}

/** The place itself, or the files of settings in it; none where it is not there. */
async function settingsIn(home: string, place: string): Promise<string[]> {
  const isSettings = (name: string) => /\.(?:toml|jsonc?|ya?ml)$/.test(name);
  if (isSettings(place)) return [place];
  const names = await readdir(join(home, place)).catch(() => []);
  return names.filter(isSettings).sort().map((name) => join(place, name));
}

async function textOf(file: string): Promise<string> {
  try {
    const found = await stat(file);
    return found.isFile() && found.size <= maxBytes ? await readFile(file, "utf8") : "";
  } catch {
    return "";
  }
}
