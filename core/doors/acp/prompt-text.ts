import type { ContentBlock } from "@agentclientprotocol/sdk";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";

/**
 * Joins the blocks of a prompt into one text. Files become their path, or a quote where the client sends their text.
 * @throws {BulkheadError} `invalid_request` for a block that is not text
 */
export function promptText(blocks: readonly ContentBlock[]): string {
  return blocks.map(blockText).join("\n\n");
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}](${pathOf(block.uri)})`;
    case "resource":
      if ("text" in block.resource) {
        return `<file path="${pathOf(block.resource.uri)}">\n${block.resource.text}\n</file>`;
      }
      return refuse("binary resource");
    default:
      return refuse(block.type);
  }
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
    hint: "Send text, links to files, or files as text: what initialize said this agent takes.",
  });
}
