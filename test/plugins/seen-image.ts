import type { AttachmentPart } from "../../plugin-sdk/messages.ts";
import { tinyPngBase64 } from "../sessions/host/attachments/tiny-png.ts";

export const sha256: string = "a".repeat(64);
export const content: AttachmentPart[] = [{ type: "image", sha256, mime_type: "image/png" }];

/** Options of a run whose prompt has an image. */
export const seen = { turns: [{ content }], attachments: { [sha256]: tinyPngBase64 } };

/** The image as the messages of Anthropic have it. */
export const source = { type: "base64", media_type: "image/png", data: tinyPngBase64 };

/** Returns the body of the first request to a model. */
export function bodyOf(calls: readonly object[]): { messages: { content: unknown }[] } {
  const asked = calls.find((one) => "options" in one && "url" in one) as { options: { body: string } } | undefined;
  return JSON.parse(asked?.options.body ?? "null");
}
