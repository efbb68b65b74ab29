import {
  type AdapterContext,
  attachedParts,
  fieldsOrNone,
  type JsonFields,
  type TurnMessage,
} from "bulkhead/plugin-sdk";
import type { Greeting } from "./open-session.ts";

/** Makes the blocks of what a client says. */
export type BlocksOf = (words: Pick<TurnMessage, "text" | "content">) => Promise<JsonFields[]>;

/** Makes the blocks of a prompt or of words into a turn. An agent that takes no images is told where it finds them. */
export async function promptBlocks(
  { text, content = [] }: Pick<TurnMessage, "text" | "content">,
  { ctx, greeting }: { ctx: Pick<AdapterContext, "attachments">; greeting: Pick<Greeting, "capabilities"> },
): Promise<JsonFields[]> {
  if (content.length === 0) return [textBlock(text)];
  const images: JsonFields[] = [];
  const words = text === "" ? [] : [text];
  if (fieldsOrNone(greeting.capabilities["promptCapabilities"])["image"] === true) {
    for (const { part, base64 } of await attachedParts(ctx, content)) {
      images.push({ type: "image", mimeType: part.mime_type, data: base64 });
    }
  } else {
    for (const { sha256 } of content) words.push(`Attached image: ${await ctx.attachments.path(sha256)}`);
  }
  return [...images, ...words.map(textBlock)];
}

/** A block of words alone. */
export function textBlock(text: string): JsonFields {
  return { type: "text", text };
}
