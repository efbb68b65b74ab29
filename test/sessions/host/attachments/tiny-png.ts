import { Buffer } from "node:buffer";

/** A PNG of one red pixel, in base64. */
export const tinyPngBase64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** Its bytes. */
export const tinyPng = new Uint8Array(Buffer.from(tinyPngBase64, "base64"));
