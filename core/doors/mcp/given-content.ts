import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mostParts, type Part, partSchema } from "../../../plugin-sdk/messages.ts";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import { bytesOfBase64 } from "../../ground/platform/files/text-or-base64.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";

/** An image or a file with its bytes. The host finds the type by these, whatever `mime_type` says. */
type InlinePart =
  | { type: "image"; data: string; mime_type?: string }
  | { type: "file"; name: string; data: string; mime_type?: string };

/** One part of what a client says: as a host takes it, or with its bytes. */
export type GivenPart = Part | InlinePart;

const name = Type.String({ minLength: 1, maxLength: 256 });
const inlineFields = {
  data: Type.String({
    minLength: 1,
    description:
      "The bytes in base64. They are kept as an upload of yours; the whole call has a limit (message_bytes).",
  }),
  mime_type: Type.Optional(name),
};

/** Checks a list of {@link GivenPart}. */
export const givenContentSchema: SchemaOf<GivenPart[]> = exactly<GivenPart[]>()(
  Type.Array(
    Type.Union([
      partSchema,
      Type.Object({ type: Type.Literal("image"), ...inlineFields }, closed),
      Type.Object({ type: Type.Literal("file"), name, ...inlineFields }, closed),
    ]),
    {
      minItems: 1,
      maxItems: mostParts,
      description: "Text, and images and files: each by the sha256 of an upload, or with its bytes as data.",
    },
  ),
);

/**
 * Uploads the parts that come with their bytes, as the client's.
 * @throws {BulkheadError} `invalid_request` for bytes that are not base64, before anything is kept; as `SessionHost.attach`
 */
export async function storedParts(
  content: readonly GivenPart[] = [],
  { sessions, client }: { sessions: Pick<SessionHost, "attach">; client: string },
): Promise<Part[]> {
  const read = content.map((part, at) => ("data" in part ? { part, bytes: bytesOf(part, at) } : part));
  const parts: Part[] = [];
  for (const one of read) {
    if (!("bytes" in one)) {
      parts.push(one);
      continue;
    }
    const { sha256, mime_type } = await sessions.attach([one.bytes], { client });
    const { type } = one.part;
    parts.push(type === "image" ? { type, sha256, mime_type } : { type, sha256, name: one.part.name, mime_type });
  }
  return parts;
}

function bytesOf({ data }: InlinePart, at: number): Uint8Array {
  const bytes = bytesOfBase64(data);
  if (bytes !== null) return bytes;
  throw new BulkheadError("invalid_request", `Cannot read content[${at}]: its data is not base64.`, {
    hint: "Write the bytes in base64 with its padding and without line breaks.",
  });
}
