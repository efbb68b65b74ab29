import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIPv6, type LookupFunction } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { type ByteReader, PullReader } from "../files/byte-reader.ts";

/** Options of {@link sendRequest}. */
export interface SendRequestOptions {
  method: string;
  headers: Record<string, string>;
  body: string | null;
  /** The addresses to connect to; the name in the URL is not looked up again. */
  addresses: readonly string[];
  /** Bytes of the body after decompression. */
  maxBytes: number;
  /** Aborts the request while there is no response yet. */
  signal: AbortSignal;
}

/** A response; names of headers in lower case. */
export interface NetworkResponse {
  status: number;
  headers: Record<string, string>;
  body: ByteReader;
}

/**
 * All addresses of a host name, IPv4 first. An address resolves to itself.
 * @throws {BulkheadError} `network_error`
 */
export async function resolveAddresses(host: string): Promise<string[]> {
  try {
    const found = await lookup(host, { all: true });
    return found.sort((a, b) => a.family - b.family).map(({ address }) => address);
  } catch (cause) {
    throw new BulkheadError("network_error", `Cannot find "${host}": the name has no address.`, { cause });
  }
}

/**
 * Does one HTTP exchange; returns redirects without following them. Keeps and shares no connection.
 * @throws {BulkheadError} `network_error`; reading the body throws the same, or `too_large`
 */
export function sendRequest(url: URL, options: SendRequestOptions): Promise<NetworkResponse> {
  const { maxBytes, signal } = options;
  const fail = (cause: unknown) =>
    new BulkheadError("network_error", `Cannot reach "${url.host}": ${describeFailure(cause)}.`, { cause });
  const tooLarge = () =>
    new BulkheadError("too_large", `The response of "${url.host}" is larger than ${maxBytes} bytes.`, {
      details: { response_bytes: maxBytes },
    });
  return new Promise((resolve, reject) => {
    const request = prepareRequest(url, options);
    const abort = () => {
      reject(signal.reason);
      request.destroy();
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    request.on("error", (error) => reject(fail(error)));
    request.on("response", (response) => {
      signal.removeEventListener("abort", abort);
      try {
        resolve(openResponse(response, { maxBytes, tooLarge, fail }));
      } catch (error) {
        response.destroy();
        reject(error);
      }
    });
    request.end(options.body ?? undefined);
  });
}

function prepareRequest(url: URL, { method, headers, body, addresses }: SendRequestOptions): ClientRequest {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  return send({
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    method,
    headers: {
      ...headers,
      host: url.host,
      "accept-encoding": "gzip, deflate, br",
      ...(body === null ? {} : { "content-length": String(new TextEncoder().encode(body).length) }),
    },
    lookup: pinnedLookup(addresses),
    agent: false,
    // Explicit, so that no environment variable of the host can switch the check off.
    rejectUnauthorized: true,
  });
}

interface OpenOptions {
  maxBytes: number;
  tooLarge: () => Error;
  fail: (cause: unknown) => BulkheadError;
}

function openResponse(response: IncomingMessage, { maxBytes, tooLarge, fail }: OpenOptions): NetworkResponse {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const decoder = createDecoder(encoding);
  const plain: Readable = decoder === null
    ? response
    : pipeline(response, decoder, () => {/* The reader hears of it from the last stream. */});
  const reader = new PullReader(plain, { maxTotal: maxBytes, tooLarge, onCancel: "destroy" });
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (name === "set-cookie" || value === undefined) continue;
    if (decoder !== null && (name === "content-encoding" || name === "content-length")) continue;
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  const body: ByteReader = {
    get ended() {
      return reader.ended;
    },
    cancel: () => {
      reader.cancel();
      response.destroy();
    },
    read: async () => {
      try {
        const chunk = await reader.read();
        if (chunk === null && decoder === null && !response.complete) throw new Error("the connection broke off");
        return chunk;
      } catch (error) {
        throw error instanceof BulkheadError ? error : fail(error);
      }
    },
  };
  return { status: response.statusCode ?? 0, headers, body };
}

function createDecoder(encoding: string) {
  switch (encoding) {
    case "":
    case "identity":
      return null;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new BulkheadError("network_error", "Cannot read the response: its content encoding is not known.");
  }
}

/** Resolves every name to addresses checked before, so that a changed DNS answer cannot redirect the connection. */
export function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (host, options, callback) => {
    const [first] = entries;
    if (first === undefined) return callback(new Error(`no address for ${host}`), "", 0);
    if (options.all === true) callback(null, entries);
    else callback(null, first.address, first.family);
  };
}

/** Describes a socket's error in one phrase, without addresses and paths. */
export function describeFailure(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (code === "ECONNRESET" || code === "EPIPE") return "the connection broke off";
  if (code === "ETIMEDOUT") return "the connection timed out";
  if (/CERT|SSL|TLS|SELF_SIGNED|ALTNAME/.test(code)) return `its certificate was refused (${code})`;
  return `the request failed${code === "" ? "" : ` (${code})`}`;
}
