import {
  type AdapterContext,
  attachedParts,
  attachedText,
  type AttachmentPart,
  fieldsOrNone,
  type JsonFields,
  type TurnMessage,
} from "bulkhead/plugin-sdk";
import type { Greeting } from "./open-session.ts";

/** Makes the blocks of what a client says. */
export type BlocksOf = (words: Pick<TurnMessage, "text" | "content">) => Promise<JsonFields[]>;

/**
 * Makes the blocks of a prompt or of words into a turn. An agent is told where it finds images that it does not take, and files
 * but texts: of those with bytes, agents that announce embedded contexts leave out some.
 */
export async function promptBlocks(
  { text, content = [] }: Pick<TurnMessage, "text" | "content">,
  { ctx, greeting }: { ctx: Pick<AdapterContext, "attachments">; greeting: Pick<Greeting, "capabilities"> },
): Promise<JsonFields[]> {
  if (content.length === 0) return [textBlock(text)];
  const can = fieldsOrNone(greeting.capabilities["promptCapabilities"]);
  const takes = ({ type, mime_type }: AttachmentPart) =>
    type === "image" ? can["image"] === true : can["embeddedContext"] === true && mime_type === "text/plain";
  const blocks: JsonFields[] = [];
  const words = text === "" ? [] : [text];
  for (const one of await attachedParts(ctx, content.filter(takes))) {
    const { part, base64 } = one;
    const read = part.type === "file" ? attachedText(one) : null;
    if (part.type === "image") blocks.push({ type: "image", mimeType: part.mime_type, data: base64 });
    else if (read === null) words.push(await pathLine(part, ctx));
    else blocks.push({ type: "resource", resource: { uri: uriOf(part.name), mimeType: part.mime_type, text: read } });
  }
  for (const part of content) if (!takes(part)) words.push(await pathLine(part, ctx));
  return [...blocks, ...words.map(textBlock)];
}

async function pathLine({ type, sha256 }: AttachmentPart, ctx: Pick<AdapterContext, "attachments">): Promise<string> {
  return `Attached ${type}: ${await ctx.attachments.path(sha256)}`;
}

/** A name is no path: the agent must not look for it among its files. */
function uriOf(name: string): string {
  return `attachment:///${encodeURIComponent(name)}`;
}

/** A block of words alone. */
export function textBlock(text: string): JsonFields {
  return { type: "text", text };
}
