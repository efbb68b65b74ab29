import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { writeContained } from "./contained-file.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import type { AttachedFile } from "./session-broker.ts";
import { place } from "./temp.ts";

/** Bytes of one answer: a message to the guest has a limit. A multiple of three, so that pieces join. */
const pieceBytes = 3 * 256 * 1024;

const sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** Images and files of the session; they need no permission. */
export const attachmentOperations: readonly Operation[] = [
  operation("attachment_read", {
    args: exactly<{ sha256: string; offset: number }>()(
      Type.Object({ sha256, offset: Type.Integer({ minimum: 0, multipleOf: pieceBytes }) }, closed),
    ),
    async perform(scope, { sha256, offset }) {
      const { bytes } = await opened(scope, sha256);
      const next = offset + pieceBytes;
      const piece = bytes.subarray(offset, next);
      const isLast = next >= bytes.length;
      if (isLast) scope.held.attachment = null;
      return { base64: asBuffer(piece).toString("base64"), next: isLast ? null : next };
    },
  }),
  operation("attachment_path", {
    args: exactly<{ sha256: string }>()(Type.Object({ sha256 }, closed)),
    async perform(scope, { sha256 }) {
      const { bytes, name } = await opened(scope, sha256);
      scope.held.attachment = null;
      const path = await place(scope, name);
      const there = await readPlainFile(path, bytes.length);
      if (there !== null && asBuffer(there).equals(bytes)) return path;
      await writeContained(path, bytes, { maxBytes: bytes.length, mode: 0o400 });
      return path;
    },
  }),
];

/** Reads it once for all pieces. A plugin that asks for many in turn reads each again. */
async function opened(scope: BrokerScope, sha256: string): Promise<AttachedFile> {
  const { attachment } = scope.options;
  if (attachment === undefined) {
    throw new BulkheadError("not_found", `The session has no attachment "${sha256.slice(0, 12)}".`);
  }
  if (scope.held.attachment?.sha256 !== sha256) scope.held.attachment = { sha256, file: attachment(sha256) };
  try {
    return await scope.held.attachment.file;
  } catch (error) {
    scope.held.attachment = null;
    throw error;
  }
}
