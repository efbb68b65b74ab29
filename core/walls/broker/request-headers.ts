import { type TOptional, type TRecord, type TString, Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** An adapter's request headers, before they are checked. */
export const headersSchema: TOptional<TRecord<TString, TString>> = Type.Optional(
  Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 16384 })),
);

/**
 * An adapter's request headers with names in lower case.
 * @throws {BulkheadError} `invalid_request` for one that is malformed, duplicate, or reserved for the host
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked = new Map<string, string>();
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name)) throw refused(written, "its name is not one");
    if (!/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)) throw refused(name, "its value holds a forbidden character");
    if (checked.has(name)) throw refused(name, "it is there twice");
    if (denied.has(name) || deniedPrefixes.some((prefix) => name.startsWith(prefix))) {
      throw refused(name, "an adapter may not set it");
    }
    checked.set(name, value);
  }
  return Object.fromEntries(checked);
}

/** The headers that may follow a redirect to another origin: any other may be a credential. */
export function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name)));
}

/** True when a secret may stand in a header: not in one that servers and proxies log. */
export function mayHoldSecret(name: string): boolean {
  return !harmless.has(name);
}

const harmless: ReadonlySet<string> = new Set(["accept", "accept-language", "content-type", "user-agent"]);

/** Framing, routing, browser and metadata-service headers. */
const denied: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "cookie",
  "cookie2",
  "date",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "keep-alive",
  "metadata",
  "metadata-flavor",
  "origin",
  "referer",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "x-http-method-override",
]);

const deniedPrefixes = ["proxy-", "sec-", "x-forwarded-", "x-aws-ec2-metadata-"];

function refused(name: string, why: string): BulkheadError {
  const shown = /^[\w-]{1,64}$/.test(name) ? name : "?";
  return new BulkheadError("invalid_request", `Cannot send the header "${shown}": ${why}.`);
}
