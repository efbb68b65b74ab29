import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { realpath } from "../../ground/runtime/files.ts";
import { sha256Hex } from "../../ground/runtime/hash.ts";
import { basename, dirname, join } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";

/** Bytes of an artifact, at most. */
const maxBytes = 4 * 1024 * 1024;

/**
 * Reads a file that a session changed, as it was when the session ended: refuses a file that was changed since, and one
 * that is reached through a link.
 * @throws {BulkheadError} `not_found`, `too_large`, `conflict`
 */
export async function readArtifact(handle: SessionHandle, path: string): Promise<Uint8Array> {
  const { workdir, artifact } = await find(handle, path);
  if ((artifact.bytes ?? 0) > maxBytes) {
    throw new BulkheadError(
      "too_large",
      `Cannot give "${path}": it has ${artifact.bytes} bytes, and ${maxBytes} may be.`,
    );
  }
  const root = await realpath(workdir).catch(() => null);
  const folder = root === null ? null : await realpath(dirname(join(root, path))).catch(() => null);
  // A folder that has become a link has another real path.
  const inside = root !== null && folder === dirname(join(root, path));
  const bytes = inside ? await readPlainFile(join(folder, basename(path)), maxBytes) : null;
  if (bytes !== null && sha256Hex(bytes) === artifact.sha256) return bytes;
  throw new BulkheadError("conflict", `Cannot give "${path}": it is not what it was when the session ended.`, {
    hint: "Read the file itself, if what it holds now will do.",
  });
}

async function find(handle: SessionHandle, path: string) {
  let workdir: string | null = null;
  const left = new AbortController();
  for await (const { event } of handle.events({ signal: left.signal })) {
    if (event.type === "session_started") workdir = event.workdir;
    break;
  }
  left.abort();
  const { artifacts, requested } = await handle.result();
  const artifact = artifacts?.find((one) => one.path === path && one.kind === "file" && one.sha256 !== null);
  if (artifact === undefined) {
    throw new BulkheadError("not_found", `Session "${handle.id}" has no artifact "${path}" with a content.`, {
      hint: "The session's result lists its artifacts.",
    });
  }
  return { workdir: workdir ?? requested.workdir, artifact };
}
