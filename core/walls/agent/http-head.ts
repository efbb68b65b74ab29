/** Fields of a message's head, in their order. */
export type HttpFields = readonly (readonly [name: string, value: string])[];

/** The head of a request to a proxy (RFC 9110, RFC 9112). */
export interface RequestHead {
  method: string;
  target: string;
  version: string;
  headers: HttpFields;
}

/** The head of an answer. */
export interface AnswerHead {
  version: string;
  status: number;
  reason: string;
  headers: HttpFields;
}

/** Bytes of a head. */
export const maxHeadBytes = 32_768;

/** Parses a request's head without its empty line; null for a malformed one. */
export function parseRequestHead(text: string): RequestHead | null {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method, target, version] = /^([A-Z]{1,32}) ([\x21-\x7e]{1,8192}) HTTP\/(1\.[01])$/.exec(first) ?? [];
  const headers = parseFields(lines);
  if (method === undefined || target === undefined || version === undefined || headers === null) return null;
  return { method, target, version, headers };
}

/** Parses an answer's head without its empty line; null for a malformed one. */
export function parseAnswerHead(text: string): AnswerHead | null {
  const [first = "", ...lines] = text.split("\r\n");
  const [, version = "", status, reason = ""] =
    /^HTTP\/(1\.[01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/.exec(first) ?? [];
  const headers = parseFields(lines);
  return status === undefined || headers === null ? null : { version, status: Number(status), reason, headers };
}

/** The values of a field, in their order. */
export function valuesOf(headers: HttpFields, name: string): string[] {
  return headers.filter(([known]) => known.toLowerCase() === name).map(([, value]) => value.trim());
}

/** A folded line, or a control character, is how requests are smuggled. */
function parseFields(lines: readonly string[]): [string, string][] | null {
  const fields: [string, string][] = [];
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    fields.push([name, value]);
  }
  return fields;
}
