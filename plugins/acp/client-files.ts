import { type AdapterContext, errorDataOf, type JsonRpcPeer, rpcCodes, RpcError } from "bulkhead/plugin-sdk";
import { countParam, textParam } from "./request-params.ts";

/** Lets the agent read and write files through the host's broker, which holds each call to its grants. */
export function offerFiles(
  agent: JsonRpcPeer,
  { fs, missingFileIsEmpty }: Pick<AdapterContext, "fs"> & { missingFileIsEmpty: boolean },
): void {
  agent.onRequest("fs/read_text_file", async ({ params }) => {
    const path = textParam(params, "path");
    const lines = { line: countParam(params, "line"), limit: countParam(params, "limit") };
    const content = await asAnswer(() => fs.readText(path), missingFileIsEmpty ? "" : undefined);
    return { content: part(content, lines) };
  });
  agent.onRequest("fs/write_text_file", async ({ params }) => {
    const [path, content] = [textParam(params, "path"), textParam(params, "content")];
    await asAnswer(() => fs.writeText(path, content));
    return {};
  });
}

/** Lines from `line` on, counted from 1, and at most `limit` of them. */
function part(text: string, { line = 1, limit }: { line: number | undefined; limit: number | undefined }): string {
  if (line <= 1 && limit === undefined) return text;
  const from = Math.max(line - 1, 0);
  const lines = text.split("\n");
  return lines.slice(from, limit === undefined ? undefined : from + limit).join("\n");
}

/** Turns the broker's answer into the protocol's. */
async function asAnswer<T>(call: () => Promise<T>, ifMissing?: T): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    const { code, message } = errorDataOf(thrown) ?? { code: "internal", message: String(thrown) };
    if (code === "not_found" && ifMissing !== undefined) return ifMissing;
    throw new RpcError(code === "not_found" ? rpcCodes.notFound : rpcCodes.internal, message);
  }
}
