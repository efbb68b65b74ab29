import { Buffer } from "node:buffer";
import { createHash, randomFillSync } from "node:crypto";

/** Hex SHA-256 of a text or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** SHA-512 of bytes as npm writes it: `sha512-` and base64. */
export function sha512Integrity(data: Uint8Array): string {
  return `sha512-${createHash("sha512").update(data).digest("base64")}`;
}

/** A random id of 128 bits, in hex. */
export function randomId(): string {
  if (drawn === random.length) {
    randomFillSync(random);
    drawn = 0;
  }
  const id = random.toString("hex", drawn, drawn += idBytes);
  // Nobody who reads this memory later learns what has been given out.
  random.fill(0, drawn - idBytes, drawn);
  return id;
}

const idBytes = 16;
/** Drawn many at once: asking the system costs much more than the bytes do. */
const random = Buffer.alloc(128 * idBytes);
let drawn = random.length;
