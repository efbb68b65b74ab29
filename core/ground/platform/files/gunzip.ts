import { gunzip } from "node:zlib";

/**
 * Unpacks gzip, up to `maxBytes`.
 * @returns `too_large`, or `damaged` for bytes that are no gzip
 */
export function gunzipCapped(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | "too_large" | "damaged"> {
  return new Promise((settle) => {
    gunzip(bytes, { maxOutputLength: maxBytes }, (error, unpacked) => {
      if (error === null) settle(unpacked);
      else settle("code" in error && error.code === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "damaged");
    });
  });
}
