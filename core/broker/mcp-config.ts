import { mcpConfigFile } from "../../plugin-sdk/mcp-config.ts";
import { join } from "../runtime/paths.ts";
import { writeNewFile } from "../runtime/write-new-file.ts";
import type { BrokerScope } from "./operation.ts";

// An adapter reads no file of its own session whose name begins with a dot, and the folder goes with the session.
const fileName = ".mcp-servers.json";

const written = new WeakMap<BrokerScope, Promise<string>>();

/** Arguments with the path of the session's MCP servers in place of its stand-in. The session's folder is there. */
export async function placeMcpConfig(scope: BrokerScope, args: readonly string[]): Promise<string[]> {
  const { mcpConfig, tempDir } = scope.options;
  if (!mcpConfig || !args.some((text) => text.includes(mcpConfigFile))) return [...args];
  const writing = written.get(scope) ?? write(join(tempDir, fileName), mcpConfig);
  written.set(scope, writing);
  const file = await writing;
  return args.map((text) => text.replaceAll(mcpConfigFile, file));
}

async function write(file: string, text: string): Promise<string> {
  async function* pieces() {
    yield text;
  }
  await writeNewFile(file, { pieces: pieces(), replace: true });
  return file;
}
