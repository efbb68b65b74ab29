import { Buffer } from "node:buffer";

/** Bytes as JSON can hold them: as text where they are UTF-8, else in base64. */
export type TextOrBase64 = { text: string } | { base64: string };

/** The bytes of base64 with its padding; null for any other text. */
export function bytesOfBase64(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : null;
}

/** The text that gives the very same bytes back; null where they are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Bytes as text where they are UTF-8, else in base64. */
export function textOrBase64(bytes: Uint8Array): TextOrBase64 {
  const text = utf8Text(bytes);
  if (text !== null) return { text };
  return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
}
