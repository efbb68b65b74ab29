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

const digits = new Map(
  [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((one, at) => [one, at]),
);

/** Returns the text of an attached file; null for one that is no text, or no UTF-8 after its beginning. */
export function attachedText({ part, base64 }: AttachedPart): string | null {
  if (part.mime_type !== "text/plain") return null;
  // Adapter code has no decoder but this one: it takes bytes as %xx.
  let [text, piece, held, bits] = ["", "", 0, 0];
  try {
    for (const digit of base64) {
      bits = (bits << 6 | (digits.get(digit) ?? 0)) & 0xfff;
      held += 6;
      if (digit === "=" || held < 8) continue;
      held -= 8;
      const byte = bits >> held & 0xff;
      // A character begins here.
      if (piece.length > 30_000 && (byte & 0xc0) !== 0x80) {
        text += decodeURIComponent(piece);
        piece = "";
      }
      piece += `%${byte.toString(16).padStart(2, "0")}`;
    }
    return text + decodeURIComponent(piece);
  } catch {
    return null;
  }
}

/** Makes the error for a file of a type that a model does not read. */
export function unreadFile({ part }: AttachedPart): BulkheadError {
  const what = part.type === "file" ? `file "${part.name}"` : "image";
  return new BulkheadError("unsupported", `Cannot give the model the ${what}: it is ${part.mime_type}.`, {
    hint: "It reads images, PDF and text files in UTF-8.",
    details: { sha256: part.sha256 },
  });
}
