import { createHash } from "node:crypto";
import type { SessionHost } from "../../../../core/sessions/host/session-host.ts";
import { contentType } from "../../../../core/ground/platform/files/content-type.ts";

/** Uploads of a host that is none: it remembers what it got, by hash. */
export function memoryAttach(): { attach: SessionHost["attach"]; uploads: Map<string, Uint8Array> } {
  const uploads = new Map<string, Uint8Array>();
  return {
    uploads,
    attach: async (content) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      const bytes = new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      uploads.set(sha256, bytes);
      return { sha256, bytes: bytes.length, mime_type: contentType(bytes) };
    },
  };
}
