/** Types of images that a prompt takes, each with the ending of its files. */
export const imageTypes: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

/** Endings of the files of other types that are known. */
const otherEndings: ReadonlyMap<string, string> = new Map([["application/pdf", "pdf"], ["text/plain", "txt"]]);

/** Bytes at a file's beginning that tell its type. */
export const headBytes = 4096;

/**
 * Finds a file's type by its beginning, whatever its name or its sender says. A text is UTF-8 without control characters:
 * markup and scripts count as plain text, so that no one runs them.
 */
export function contentType(head: Uint8Array): string {
  const found = signatures.find(({ at }) => at.every(([offset, bytes]) => holds(head, offset, bytes)));
  if (found !== undefined) return found.type;
  return isText(head) ? "text/plain" : "application/octet-stream";
}

/** Returns the ending of a file of that type, with its dot; empty for an unknown one. */
export function endingOf(type: string): string {
  const ending = imageTypes.get(type) ?? otherEndings.get(type);
  return ending === undefined ? "" : `.${ending}`;
}

type Signature = readonly (readonly [offset: number, bytes: string])[];

/** Bytes are Latin-1 letters. A PNG needs its first chunk as well: eight bytes are easily put before a page. */
const signatures: readonly { type: string; at: Signature }[] = [
  { type: "image/png", at: [[0, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"]] },
  { type: "image/jpeg", at: [[0, "\xff\xd8\xff"]] },
  { type: "image/gif", at: [[0, "GIF87a"]] },
  { type: "image/gif", at: [[0, "GIF89a"]] },
  { type: "image/webp", at: [[0, "RIFF"], [8, "WEBPVP8"]] },
  { type: "application/pdf", at: [[0, "%PDF-"]] },
];

function holds(head: Uint8Array, offset: number, bytes: string): boolean {
  return [...bytes].every((byte, at) => head[offset + at] === byte.charCodeAt(0));
}

function isText(head: Uint8Array): boolean {
  if (head.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c)) {
    return false;
  }
  try {
    // The last letter may be cut off.
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}
