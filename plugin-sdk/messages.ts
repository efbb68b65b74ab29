import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** One part of a prompt or of a message; the bytes of an image or a file are stored under their hash. */
export type Part =
  | { type: "text"; text: string }
  | { type: "image"; sha256: string; mime_type: string }
  | { type: "file"; sha256: string; name: string; mime_type: string };

/** An image or a file of a prompt or of a message. */
export type AttachmentPart = Exclude<Part, { type: "text" }>;

/** An upload, as the host has found it. */
export interface StoredAttachment {
  /** Names its bytes. */
  sha256: string;
  bytes: number;
  /** By the content: an image, a PDF or plain text, else `application/octet-stream`. */
  mime_type: string;
}

/**
 * When a message reaches the agent. `queue`: after this turn. `steer`: in this turn; where no turn runs or the agent takes
 * none, it is the next prompt, before the queue. `interrupt`: it stops this turn and is the next prompt.
 */
export type Delivery = "queue" | "steer" | "interrupt";

/** Every {@link Delivery}. */
export const deliveries: readonly Delivery[] = ["queue", "steer", "interrupt"];

const sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
const name = Type.String({ minLength: 1, maxLength: 256 });

const image = Type.Object({ type: Type.Literal("image"), sha256, mime_type: name }, closed);
const file = Type.Object({ type: Type.Literal("file"), sha256, name, mime_type: name }, closed);

/** Most images and files of a prompt or of a message. */
export const mostAttachments = 8;
/** Most bytes of an image. */
export const imageBytes: number = 5 * 1024 * 1024;
/** Most bytes of an upload, and of all attachments of a message. */
export const messageBytes: number = 20 * 1024 * 1024;

/** Checks a list of {@link AttachmentPart}. */
export const attachmentsSchema: SchemaOf<AttachmentPart[]> = exactly<AttachmentPart[]>()(
  Type.Array(Type.Union([image, file]), { minItems: 1, maxItems: mostAttachments }),
);

/** Most parts of a message. */
export const mostParts = 64;

/** Checks a {@link Part}. */
export const partSchema: SchemaOf<Part> = exactly<Part>()(
  Type.Union([Type.Object({ type: Type.Literal("text"), text: Type.String() }, closed), image, file]),
);

/** Checks a list of {@link Part}. Sizes and counts are limits of the host, not of the schema. */
export const contentSchema: SchemaOf<Part[]> = exactly<Part[]>()(
  Type.Array(partSchema, { minItems: 1, maxItems: mostParts }),
);
