import { Type } from "@sinclair/typebox";
import { messageBytes, type StoredAttachment } from "../../../../plugin-sdk/messages.ts";
import { exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import { count, named, text } from "../../../sessions/session/schemas/named.ts";
import { type ApiRoute, json, route } from "../route.ts";

const storedSchema: SchemaOf<StoredAttachment> = named(
  "Attachment",
  exactly<StoredAttachment>()(Type.Object({ sha256: text, bytes: count, mime_type: text })),
);

/** Route to upload images and files that requests and messages name. */
export const attachmentRoutes: readonly ApiRoute[] = [
  route({
    id: "uploadAttachment",
    at: "POST /v1/attachments",
    summary: "upload an image or a file, for a request or a message that names it within an hour",
    scope: "run",
    maxBytes: messageBytes,
    answers: { 201: { summary: "it is kept; mime_type is by its content", schema: storedSchema } },
    handle: async ({ bytes, sessions }) => json(await sessions.attach(bytes), { status: 201 }),
  }),
];
