import { anthropicMessages } from "./anthropic-messages.ts";
import { geminiContent } from "./gemini-content.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { MeteredProtocol } from "./protocol.ts";

const protocols: readonly MeteredProtocol[] = [anthropicMessages, openaiResponses, openaiChat, geminiContent];

/** Returns the protocol of a call; undefined for a request that calls no model. */
export function protocolOf({ method, path }: { method: string; path: string }): MeteredProtocol | undefined {
  if (method !== "POST") return undefined;
  const bare = path.replace(/\?.*$/s, "");
  return protocols.find(({ takes }) => takes(bare));
}
