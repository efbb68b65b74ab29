import { type McpServer as EditorServer, RequestError } from "@agentclientprotocol/sdk";
import { Type } from "@sinclair/typebox";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";

/** Parameters of `session/fork`, which the stable protocol does not have yet and its library does not check. */
export interface ForkParams {
  sessionId: string;
  cwd: string;
  mcpServers: EditorServer[];
}

const text = Type.String();
const pairs = Type.Array(Type.Object({ name: text, value: text }));
const check = lazyCheck(Type.Object({
  sessionId: text,
  cwd: text,
  mcpServers: Type.Optional(Type.Array(Type.Union([
    Type.Object({ name: text, command: text, args: Type.Array(text), env: pairs }),
    Type.Object({
      type: Type.Union([Type.Literal("http"), Type.Literal("sse")]),
      name: text,
      url: text,
      headers: pairs,
    }),
  ]))),
}));

/** @throws {RequestError} invalid parameters */
export function readFork(params: unknown): ForkParams {
  if (!check().Check(params)) throw RequestError.invalidParams({}, "it takes sessionId, cwd and mcpServers");
  const { sessionId, cwd, mcpServers = [] } = params;
  return { sessionId, cwd, mcpServers };
}
