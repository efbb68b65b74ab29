import { createHash, randomBytes } from "node:crypto";

/** Hex SHA-256 of a text or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** A random id of 128 bits, in hex. */
export function randomId(): string {
  return randomBytes(16).toString("hex");
}
