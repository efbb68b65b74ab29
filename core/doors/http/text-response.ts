/** Creates a text response with its length. */
export function textResponse(
  text: string,
  { status = 200, type, headers = {} }: { status?: number; type: string; headers?: Readonly<Record<string, string>> },
): Response {
  const bytes = new TextEncoder().encode(text);
  return new Response(bytes, {
    status,
    headers: { ...headers, "content-type": type, "content-length": String(bytes.length) },
  });
}
