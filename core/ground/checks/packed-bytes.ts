const marks = [[0x1f, 0x8b], [0x28, 0xb5, 0x2f, 0xfd], [0x78, 0x01], [0x78, 0x9c], [0x78, 0xda]];

/** Bytes that {@link isPacked} needs. */
export const packedMark = 4;

/** Whether bytes begin as gzip, zstd or zlib does. No text begins so. */
export function isPacked(bytes: Uint8Array): boolean {
  return marks.some((mark) => mark.every((byte, at) => bytes[at] === byte));
}
