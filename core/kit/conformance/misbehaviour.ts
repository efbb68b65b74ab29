/** Output of a tool that prints nonsense: no text of any protocol, and no valid UTF-8 at its end. */
export const garbage: Uint8Array = new Uint8Array([
  ...new TextEncoder().encode('%%% garbage-marker {]\n\u0000\u0007\u001b[31m{"type":\n'),
  0xff,
  0xfe,
  0x80,
  0x0a,
]);

/** Stands in each output that must not be lost. */
export const garbageMarker = "garbage-marker";

/** One line of a flood: 1,024 of them come. */
export const floodLine: string = `flood ${"x".repeat(1017)}`;

/** At the end of the one line that is longer than any buffer. */
export const longMarker = "long-line-marker";

/** One line of 300,000 characters. */
export const longLine: string = `${"y".repeat(300_000)} ${longMarker}`;

/** Message of a tool whose provider limits requests. */
export const rateLimitText = "Error: 429 Too Many Requests. Please wait 30 seconds.";
/** How long that asks to wait, in milliseconds. */
export const rateLimitWaitMs = 30_000;

/** Texts that any detector must tell apart. */
export const knownRateLimits: readonly { text: string; wait_s: number | null }[] = [
  { text: "Error: rate limit exceeded, wait 20 seconds", wait_s: 20 },
  { text: "HTTP 429\nretry-after: 7", wait_s: 7 },
  { text: "Too many requests", wait_s: null },
];

/** Failures that are no rate limit. */
export const otherFailures: readonly string[] = [
  "Error: ENOENT: no such file",
  "Segmentation fault",
  "Invalid API key",
  "The prompt exceeds your context limit",
];

/** A model that no provider offers. */
export const noSuchModel = "no-such-model-0000";
