import type { ContentBlock } from "@agentclientprotocol/sdk";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { bytesOfBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";

/** An image or a file that the client sent with a prompt. */
interface PromptFile {
  bytes: Uint8Array;
  /** Null for an image. */
  name: string | null;
}

/** Text of a prompt, and the files that came with it. */
export interface PromptWords {
  text: string;
  files: readonly PromptFile[];
}

/**
 * Reads the blocks of a prompt: one text, images, and files. A file becomes its path where the client sends a link, a quote
 * where it sends the text, and an attachment where it sends bytes.
 * @throws {BulkheadError} `invalid_request` for a block of another kind
 */
export function promptWords(blocks: readonly ContentBlock[]): PromptWords {
  const read = blocks.map(readBlock);
  return {
    text: read.flatMap((one) => (typeof one === "string" ? [one] : [])).join("\n\n"),
    files: read.flatMap((one) => (typeof one === "string" ? [] : [one])),
  };
}

function readBlock(block: ContentBlock): string | PromptFile {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return { bytes: bytesOf(block.data), name: null };
    case "resource_link":
      return `[${block.name}](${pathOf(block.uri)})`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return `<file path="${pathOf(resource.uri)}">\n${resource.text}\n</file>`;
      // A name that the client chose must be no path.
      const name = pathOf(resource.uri).split(/[/\\]/).at(-1)?.replaceAll(/[\p{C}]/gu, "").slice(0, 200);
      return { bytes: bytesOf(resource.blob), name: name || "file" };
    }
    default:
      return refuse(block.type);
  }
}

function bytesOf(base64: string): Uint8Array {
  const bytes = bytesOfBase64(base64);
  if (bytes !== null) return bytes;
  throw new BulkheadError("invalid_request", "Cannot take the prompt: an image or a file of it is not base64.");
}

function pathOf(uri: string): string {
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri) : uri;
  } catch {
    return uri;
  }
}

function refuse(kind: string): never {
  throw new BulkheadError("invalid_request", `Cannot take the prompt: it holds a block of kind "${kind}".`, {
    hint: "Send text, images, links to files, or files: what initialize said this agent takes.",
  });
}
