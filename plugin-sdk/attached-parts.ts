import type { AdapterContext } from "./context.ts";
import { BulkheadError } from "./errors.ts";
import type { AttachmentPart } from "./messages.ts";

/** Most bytes that an adapter hands on in one piece, as base64: what leaves it goes to the host as one message. */
const mostCharacters = 12 * 1024 * 1024;

/** An image or a file, with its bytes. */
export interface AttachedPart {
  part: AttachmentPart;
  base64: string;
}

/**
 * Reads the images and files of a prompt, for an agent that takes them in the prompt itself.
 * @throws {BulkheadError} `too_large` where they are too much for one message
 */
export async function attachedParts(
  { attachments }: Pick<AdapterContext, "attachments">,
  content: readonly AttachmentPart[] = [],
): Promise<AttachedPart[]> {
  const parts: AttachedPart[] = [];
  let characters = 0;
  for (const part of content) {
    const base64 = await attachments.base64(part.sha256);
    characters += base64.length;
    if (characters > mostCharacters) {
      throw new BulkheadError("too_large", "The agent takes at most 9 MiB of images and files with one prompt.", {
        hint: "Send fewer, or put them into the working directory.",
      });
    }
    parts.push({ part, base64 });
  }
  return parts;
}
