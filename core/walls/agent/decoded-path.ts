/** Decodes a path as often as it is encoded, to one character a byte; null for one that is badly encoded, or too often. */
export function decodedPath(path: string): string | null {
  if (/%(?![0-9a-f]{2})/i.test(path)) return null;
  let text = path;
  for (let times = 0; times < 4; times++) {
    const next = text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
    if (next === text) return text;
    text = next;
  }
  return null;
}
