import { mcpConfigFile } from "../../../plugin-sdk/mcp-config.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { writeNewFile } from "../../ground/platform/files/write-new-file.ts";
import type { BrokerScope } from "./operation.ts";

/** Arguments of a program with the session's MCP servers in their place. */
interface PlacedArguments {
  args: string[];
  /** The file that the arguments name; null when they name none. */
  file: string | null;
}

/**
 * Replaces the stand-in with the path of the session's MCP servers, for a program that may have them.
 * @throws {BulkheadError} `permission_denied`, `io_error`
 */
export async function placeMcpConfig(
  scope: BrokerScope,
  { binary, args }: { binary: string; args: readonly string[] },
): Promise<PlacedArguments> {
  const { mcpConfig } = scope.options;
  if (!mcpConfig || !args.some((text) => text.includes(mcpConfigFile))) return { args: [...args], file: null };
  await demandMcpServers(scope, binary);
  const file = await fileOf(scope, mcpConfig);
  return { args: args.map((text) => text.replaceAll(mcpConfigFile, file)), file };
}

/** Removes the file of a session that is over. */
export async function removeMcpConfig(scope: BrokerScope): Promise<void> {
  const made = scope.held.mcpConfig;
  if (made === null) return;
  await made.file.catch(() => {});
  await removeTree(made.folder);
}

/** The session's temporary folder would not do: every program of the session finds its way there. */
function fileOf(scope: BrokerScope, text: string): Promise<string> {
  if (scope.held.mcpConfig !== null) return scope.held.mcpConfig.file;
  const folder = `${scope.options.tempDir}-${randomId()}`;
  const made = { folder, file: write(folder, text) };
  scope.held.mcpConfig = made;
  return made.file;
}

async function write(folder: string, text: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "mcp-servers.json");
  async function* pieces() {
    yield text;
  }
  await writeNewFile(file, { pieces: pieces(), replace: false });
  return file;
}

/**
 * Asks whether a program may be handed the session's MCP servers, and journals it: which servers, and to which program.
 * Secrets stand in their definitions, and a program that prints what it is told would tell the adapter.
 * @throws {BulkheadError} `permission_denied`
 */
export async function demandMcpServers(
  { options, authority }: Pick<BrokerScope, "options" | "authority">,
  binary: string,
): Promise<void> {
  // The host wrote this text itself.
  const { mcpServers } = JSON.parse(options.mcpConfig ?? '{"mcpServers":{}}') as {
    mcpServers: Record<string, unknown>;
  };
  const subject = `${Object.keys(mcpServers).join(", ")} to ${binary}`;
  await authority.demand({
    permission: "mcp_servers",
    target: binary,
    subject,
    exactly: subject,
    call: { kind: "mcp_servers", binary },
  });
}
