import { type ClientApp, RequestError } from "@agentclientprotocol/sdk";
import { type AdapterContext, errorDataOf } from "bulkhead/plugin-sdk";

/** The protocol's code for a thing that is not there. */
const notFound = -32002;

/** Lets the agent read and write files through the host's broker, which holds each call to its grants. */
export function offerFiles(
  app: ClientApp,
  { fs, missingFileIsEmpty }: Pick<AdapterContext, "fs"> & { missingFileIsEmpty: boolean },
): void {
  app.onRequest("fs/read_text_file", async ({ params }) => {
    const content = await asAnswer(() => fs.readText(params.path), missingFileIsEmpty ? "" : undefined);
    return { content: part(content, params) };
  });
  app.onRequest("fs/write_text_file", async ({ params }) => {
    await asAnswer(() => fs.writeText(params.path, params.content));
    return {};
  });
}

/** Lines from `line` on, counted from 1, and at most `limit` of them. */
function part(text: string, { line, limit }: { line?: number | null; limit?: number | null }): string {
  if ((line ?? 1) <= 1 && (limit ?? null) === null) return text;
  const from = Math.max((line ?? 1) - 1, 0);
  const lines = text.split("\n");
  return lines.slice(from, limit === null || limit === undefined ? undefined : from + limit).join("\n");
}

/** Turns the broker's answer into the protocol's. */
async function asAnswer<T>(call: () => Promise<T>, ifMissing?: T): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    const { code, message } = errorDataOf(thrown) ?? { code: "internal", message: String(thrown) };
    if (code === "not_found" && ifMissing !== undefined) return ifMissing;
    throw new RequestError(code === "not_found" ? notFound : -32603, message);
  }
}
