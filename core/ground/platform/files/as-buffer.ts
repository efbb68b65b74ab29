import { Buffer } from "node:buffer";

/** The same bytes as libraries of Node want them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
