import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { type AttachmentPart, messageBytes } from "../../../../plugin-sdk/messages.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { readFile, stat } from "../../../ground/platform/files/files.ts";
import { basename, resolve } from "../../../ground/platform/files/paths.ts";
import type { Invocation } from "../command.ts";

/**
 * Uploads the files that `--image` and `--file` name.
 * @throws {BulkheadError} `not_found`, `too_large`, as `SessionHost.attach`
 */
export async function uploadedByFlags(
  { options, terminal }: Pick<Invocation, "options" | "terminal">,
  { attach }: Pick<SessionHost, "attach">,
): Promise<AttachmentPart[]> {
  const parts: AttachmentPart[] = [];
  for (const type of ["image", "file"] as const) {
    for (const named of listOf(options[type])) parts.push(await upload({ type, named, cwd: terminal.cwd }, { attach }));
  }
  return parts;
}

/**
 * Uploads a file of the person's.
 * @throws {BulkheadError} as {@link uploadedByFlags}
 */
export async function upload(
  { type, named, cwd }: { type: "image" | "file"; named: string; cwd: string },
  { attach }: Pick<SessionHost, "attach">,
): Promise<AttachmentPart> {
  const { sha256, mime_type } = await attach([await bytesOf(named, cwd)]);
  return type === "image" ? { type, sha256, mime_type } : { type, sha256, name: basename(named), mime_type };
}

function listOf(given: unknown): string[] {
  return Array.isArray(given) ? given.map(String) : [];
}

async function bytesOf(named: string, cwd: string): Promise<Uint8Array> {
  const path = resolve(cwd, named);
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) {
    throw new BulkheadError("not_found", `Cannot attach "${named}": there is no such file.`);
  }
  // Before it is read: the host refuses more.
  if (found.size > messageBytes) {
    throw new BulkheadError("too_large", `Cannot attach "${named}": it has more than ${messageBytes} bytes.`, {
      hint: "Name it in the prompt: the agent reads it in its folder.",
    });
  }
  return await readFile(path);
}
