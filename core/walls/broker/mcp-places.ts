import { access, realpath } from "../../ground/platform/files/files.ts";
import { dirname, isAbsolute, isBelow, join } from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** Files that lie at the top of a package: its program loads what lies beside them. */
const packageFiles = ["package.json", "deno.json", "pyproject.toml", "pyvenv.cfg", "Cargo.toml", "go.mod"];

/**
 * Places below the home that the command lines of a session's MCP servers name, for the agent that starts them: each
 * file with the package that it belongs to.
 */
export async function mcpServerPlaces({ mcpConfig, permissions }: SessionBrokerOptions): Promise<string[]> {
  const named = hostEnv("HOME");
  if (!mcpConfig || (permissions.mcp_servers ?? []).length === 0 || !named || !isAbsolute(named)) return [];
  const home = await realpath(named).catch(() => named);
  // The host wrote this text itself.
  const { mcpServers } = JSON.parse(mcpConfig) as {
    mcpServers: Record<string, { command?: string; args?: string[] }>;
  };
  const words = Object.values(mcpServers).flatMap(({ command, args = [] }) =>
    command === undefined ? [] : [command, ...args]
  );
  const paths = words.map((word) => word.replace(/^-[^=]*=/, "")).filter(isAbsolute);
  const found = [...new Set(paths)].map(async (path) => {
    const real = await realpath(path).catch(() => null);
    if (real === null || ![named, home].some((top) => isBelow(top, path) || isBelow(top, real))) return [];
    return [path, await packageAround(real, home) ?? real];
  });
  return [...new Set((await Promise.all(found)).flat())];
}

/** The folder of the package that a file belongs to, below the home; null for a file of none. */
async function packageAround(file: string, home: string): Promise<string | null> {
  for (let folder = dirname(file); isBelow(home, folder); folder = dirname(folder)) {
    const there = await Promise.all(
      packageFiles.map((name) => access(join(folder, name)).then(() => true, () => false)),
    );
    if (there.includes(true)) return folder;
  }
  return null;
}
