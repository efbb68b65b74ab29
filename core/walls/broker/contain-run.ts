import type { Permissions, RunPermission } from "../../../plugin-sdk/permissions.ts";
import { readdir } from "../../ground/runtime/files.ts";
import { agentPlaces, keyPlaces } from "../../ground/runtime/key-places.ts";
import { containAgent, ownProcesses } from "../../ground/runtime/os-walls/contain-agent.ts";
import type { Command } from "../../ground/runtime/os-walls/os-wall.ts";
import { join } from "../../ground/runtime/paths.ts";
import { hostEnv } from "../../ground/runtime/platform.ts";
import { grantedRoots } from "./granted-roots.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/**
 * The command as the permission wants it started: contained, or with nothing but its processes kept together.
 * @throws {BulkheadError} `unavailable` when the system cannot contain it
 */
export async function containRun(
  command: Command,
  { permission, options, shown }: {
    permission: RunPermission;
    options: SessionBrokerOptions;
    shown: readonly string[];
  },
): Promise<Command & { contained: boolean }> {
  if (permission.contain === undefined && permission.contain_net !== true) {
    return options.ownPids === true ? await ownProcesses(command) : { ...command, contained: false };
  }
  const { workdir, pluginDir, tempDir, workspaceDir, protectedPaths = [], sealedPaths = [] } = options;
  const home = hostEnv("HOME");
  const keys = home === undefined || home === "" ? [] : [...keyPlaces, ...await browsers(home)];
  const ownTools = configTools(options.permissions);
  const logins = Object.entries(agentPlaces).filter(([tool]) => !ownTools.includes(tool)).flatMap(([, places]) =>
    places
  );
  const ownConfig = (await grantedRoots(ownTools.map((tool) => `config:${tool}`), options)).map(({ path }) => path);
  const contained = await containAgent(command, {
    writable: [workdir],
    tmp: tempDir,
    hidden: [
      ...protectedPaths,
      ...[...keys, ...(home ? logins : [])].map((place) => join(home ?? "", place)),
    ],
    shown: [...sealedPaths, ...ownConfig, pluginDir, ...shown, ...(workspaceDir === undefined ? [] : [workspaceDir])],
    network: permission.contain_net !== true,
  });
  return { ...contained, contained: true };
}

/** Tools whose settings the plugin was granted: their logins are its own. */
function configTools({ read = [], write = [] }: Permissions): string[] {
  return [...read, ...write].flatMap((root) => root.startsWith("config:") ? [root.slice("config:".length)] : []);
}

/** Profiles of browsers, with what people are logged in to. */
async function browsers(home: string): Promise<string[]> {
  const settings = await readdir(join(home, ".config")).catch(() => []);
  return settings.filter((name) => /chrom|brave|vivaldi|opera|edge/i.test(name)).map((name) => join(".config", name));
}
