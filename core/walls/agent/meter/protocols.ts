import { decodedPath } from "../decoded-path.ts";
import type { WireRequest } from "../wire.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { geminiContent } from "./gemini-content.ts";
import { openaiChat, openaiResponses } from "./openai.ts";
import type { MeteredProtocol } from "./protocol.ts";

const protocols: readonly MeteredProtocol[] = [anthropicMessages, openaiResponses, openaiChat, geminiContent];

/** Methods that make nothing. */
const freeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** Paths of requests that count tokens, end a call, or tell what a program did. */
const freePaths =
  /\/messages\/count_tokens$|\/responses\/input_tokens$|:(?:count|compute)Tokens$|\/(?:responses|batches)\/[^/]+\/cancel$|\/event_logging\/batch$/i;

/**
 * Returns how a request is paid: by the figures of a protocol that are read, not at all (`free`), or in a way that is not known.
 * A path of a protocol is read as a lenient server would; one that is free stands there letter by letter.
 */
export function callKind(
  { method, path, base }: Pick<WireRequest, "method" | "path" | "base">,
): MeteredProtocol | "free" | "unknown" {
  if (freeMethods.has(method)) return "free";
  const bare = path.replace(/\?.*$/s, "");
  const plain = plainPath(`${new URL(base).pathname}/${bare}`);
  if (method !== "POST" || plain === null) return "unknown";
  const protocol = protocols.find(({ takes }) => takes(plain));
  return protocol ?? (freePaths.test(plain) && plain.endsWith(bare) ? "free" : "unknown");
}

/** Decodes a path, without empty parts and a parameter at its end; null where two readers could take it for two paths. */
function plainPath(path: string): string | null {
  const plain = decodedPath(path)?.replace(/\/+/g, "/").replace(/[;?][^/]*\/?$|\/$/, "");
  return plain === undefined || /[;?]/.test(plain) ? null : plain;
}
