import { crc32 as crc32Of } from "node:zlib";
import { Buffer } from "node:buffer";
import { createHash, createHmac, randomBytes, randomFillSync, timingSafeEqual } from "node:crypto";
import { nextTurn } from "../engine/next-turn.ts";

/** CRC-32 of bytes, as gzip has it. */
export function crc32(data: Uint8Array): number {
  return crc32Of(data);
}

/** Hex SHA-256 of a text or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Hex SHA-256 of several texts, one after the other. */
export function sha256HexOf(...texts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text);
  return hash.digest("hex");
}

/** Hex SHA-256 of several byte arrays, one after the other. Yields after each piece. */
export async function sha256HexInTurns(parts: readonly Uint8Array[]): Promise<string> {
  const hash = createHash("sha256");
  for (const part of parts) {
    for (let at = 0; at < part.length; at += pieceBytes) {
      if (at > 0) await nextTurn();
      hash.update(part.subarray(at, at + pieceBytes));
    }
  }
  return hash.digest("hex");
}

const pieceBytes = 2 * 1024 * 1024;

/** Id that git gives a file of this content. */
export function createBlobId(content: Uint8Array, algorithm: "sha1" | "sha256"): string {
  return createHash(algorithm).update(`blob ${content.byteLength}\0`).update(content).digest("hex");
}

/** Hex HMAC-SHA-256 of a text. */
export function hmacSha256Hex(key: string | Uint8Array, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

/** Compares two texts in constant time. */
export function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(createHash("sha256").update(one).digest(), createHash("sha256").update(other).digest());
}

/** Random bytes for a key. */
export function randomKey(): Uint8Array {
  return randomFillSync(new Uint8Array(32));
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
  // Wipe ids that were given out, so that reading this memory later does not reveal them.
  random.fill(0, drawn - idBytes, drawn);
  return id;
}

const idBytes = 16;
/** Draws many at once: a call to the system costs much more than the bytes do. */
const random = Buffer.alloc(128 * idBytes);
let drawn = random.length;

/** A random text of 256 bits that needs no escaping in a header or URL. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Puts the keys of a JSON value in order, as the replacer of `JSON.stringify`: their order says nothing. */
export function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
