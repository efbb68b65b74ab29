/** Headers of every answer. They tell a browser not to render, cache or share it. */
const always: readonly (readonly [name: string, value: string])[] = [
  ["cache-control", "no-store"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["cross-origin-resource-policy", "same-origin"],
  ["referrer-policy", "no-referrer"],
  ["x-content-type-options", "nosniff"],
];

/** Adds the headers that every answer must have; a page has a policy of its own. */
export function secure(response: Response): Response {
  for (const [name, value] of always) {
    if (name !== "content-security-policy" || !response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
