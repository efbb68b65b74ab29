import { Buffer } from "node:buffer";

/** Bytes as JSON can hold them: as text where they are UTF-8, else in base64. */
export type TextOrBase64 = { text: string } | { base64: string };

/** The bytes of base64 with its padding; null for any other text. */
export function bytesOfBase64(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : null;
}

/** Bytes as text where that gives the very same bytes back, else in base64. */
export function textOrBase64(bytes: Uint8Array): TextOrBase64 {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
}
