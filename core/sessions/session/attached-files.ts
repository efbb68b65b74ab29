import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { AttachmentPart } from "../../../plugin-sdk/messages.ts";
import { endingOf } from "../../ground/platform/files/content-type.ts";
import type { AttachedFile } from "../../walls/broker/session-broker.ts";
import type { AttemptDeps } from "./admitted.ts";
import { canTalk } from "./enforceable.ts";

/** A prompt as an adapter gets it. */
export interface Prompted {
  prompt: string;
  content?: readonly AttachmentPart[];
}

/**
 * Returns an image or a file that the session's request or one of its messages names.
 * @throws {BulkheadError} `not_found` for any other: a plugin that knows a hash gets nothing by it
 */
export async function attachedFile(
  { session, turns, host }: Pick<AttemptDeps, "session" | "turns" | "host">,
  sha256: string,
): Promise<AttachedFile> {
  const all = [...session.request.content ?? [], ...turns.messages.flatMap(({ content }) => content)];
  const part = all.find((one): one is AttachmentPart => one.type !== "text" && one.sha256 === sha256);
  if (part === undefined) {
    throw new BulkheadError("not_found", `The session has no attachment "${sha256.slice(0, 12)}".`);
  }
  const { bytes, mime_type } = await host.readAttachment(sha256);
  return { bytes, name: fileName(part, mime_type) };
}

/** Makes a name that is simple and one file's alone; its ending is that of its type where that is known. */
function fileName(part: AttachmentPart, type: string): string {
  const named = part.type === "file" ? part.name : "image";
  const ending = endingOf(type);
  const simple = named.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(-80);
  // A program must not take a picture for a script by a name that the client chose.
  const isFine = type === "text/plain" || simple.toLowerCase().endsWith(ending);
  return `${part.sha256.slice(0, 16)}-${simple}${isFine ? "" : ending}`;
}

/**
 * Leaves to an adapter the images and files that it takes. The others are put where the agent's programs can read them, and
 * the prompt names them.
 * @param pathOf puts one there and returns its path
 */
export async function fitAttachments(
  { prompt, content = [] }: Prompted,
  { manifest, pathOf }: { manifest: Manifest; pathOf(sha256: string): Promise<string> },
): Promise<Prompted> {
  const takes = ({ type }: AttachmentPart) => canTalk(manifest, type === "image" ? "images" : "files");
  const taken = content.filter(takes);
  const paths: string[] = [];
  for (const part of content) if (!takes(part)) paths.push(await pathOf(part.sha256));
  const named = ["Attached files, to read only:", ...paths.map((path) => `- ${path}`)].join("\n");
  const texts = [prompt, ...paths.length === 0 ? [] : [named]].filter((text) => text !== "");
  return { prompt: texts.join("\n\n"), ...taken.length === 0 ? {} : { content: taken } };
}
