import * as z from "zod";
import { hasOnlyReferences, type McpServer } from "../mcp-server.ts";
import { line } from "./texts.ts";

/** `mcp_servers`: servers that sessions may name, by their names. */
export function mcpServersSection(): z.ZodType<Record<string, McpServer>> {
  const withSecrets = z.record(
    z.string().min(1).max(256),
    z.string().max(8192).refine(hasOnlyReferences, { params: { expected: "text, with secrets as ${secret:NAME}" } }),
  );
  const server: z.ZodType<McpServer> = z.union([
    z.strictObject({
      command: line(),
      args: z.array(z.string().max(4096)).max(64).exactOptional(),
      env: withSecrets.exactOptional(),
    }),
    z.strictObject({
      url: z.string().max(4096).regex(/^https?:\/\/[^\s]+$/),
      headers: withSecrets.exactOptional(),
    }),
  ]);
  return z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), server).nullable()
    .transform((servers) => servers ?? {});
}
