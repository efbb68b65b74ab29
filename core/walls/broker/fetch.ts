import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { readUrl } from "../../ground/config/net-target.ts";
import type { Operations } from "../channel/operations.ts";
import type { ByteReader } from "../../ground/platform/files/byte-reader.ts";
import { type NetworkResponse, sendRequest } from "../../ground/platform/net/network.ts";
import { sendFollowed } from "../agent/followed-fetch.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import { parseUrl, reachTarget } from "./reach-target.ts";
import { checkHeaders, headersSchema, withoutCredentials } from "./request-headers.ts";

type FetchArgs = Operations["fetch"]["args"];

const schemes = ["http:", "https:"] as const;
const maxRedirects = 5;
/** Responses of one session that may be open at once: each holds a socket. */
const maxOpen = 16;

/** HTTP and HTTPS requests to granted hosts. */
export const fetchOperations: readonly Operation[] = [
  operation("fetch", {
    args: exactly<FetchArgs>()(
      Type.Object({
        url: Type.String({ minLength: 1, maxLength: 8192 }),
        options: Type.Object({
          method: Type.Optional(Type.String({ minLength: 1, maxLength: 16 })),
          headers: headersSchema,
          body: Type.Optional(Type.String()),
        }, closed),
      }, closed),
    ),
    waits: true,
    perform: fetchUrl,
  }),
];

interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

async function fetchUrl(scope: BrokerScope, { url, options }: FetchArgs): Promise<Operations["fetch"]["value"]> {
  const { held } = scope;
  if (held.openFetches >= maxOpen) {
    throw new BulkheadError("limit_exceeded", `Cannot fetch: ${maxOpen} responses of the session are open.`);
  }
  held.openFetches++;
  const release = () => void held.openFetches--;
  try {
    const response = await follow(scope, {
      url: parseUrl(url, schemes),
      method: checkMethod(options.method ?? "GET", options.body),
      headers: checkHeaders(options.headers ?? {}),
      body: options.body ?? null,
    });
    scope.signal.throwIfAborted();
    const body = scope.streams.add(countedBody(response.body, release));
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    release();
    throw error;
  }
}

/** Sends a request and follows its redirects by hand: each hop is a new request that needs its own grant. */
async function follow(scope: BrokerScope, first: Hop): Promise<NetworkResponse> {
  let hop = first;
  for (let redirects = 0;; redirects++) {
    const response = await sendHop(scope, hop);
    const location = response.headers["location"];
    if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined) return response;
    response.body.cancel();
    if (redirects === maxRedirects) {
      throw new BulkheadError(
        "network_error",
        `Cannot fetch "${first.url.host}": more than ${maxRedirects} redirects.`,
      );
    }
    hop = nextHop(hop, { status: response.status, location });
  }
}

async function sendHop(scope: BrokerScope, { url, method, headers, body }: Hop): Promise<NetworkResponse> {
  const { limits, permissions } = scope.options;
  const maxBytes = Math.min(limits.response_bytes, permissions.limits?.response_bytes ?? Infinity);
  return await reachTarget(scope, { url, headers }, (way) =>
    sendFollowed(
      scope.options,
      { url, method, headers, body },
      () => sendRequest(url, { ...way, method, body, maxBytes }),
    ));
}

function nextHop(hop: Hop, { status, location }: { status: number; location: string }): Hop {
  const next = readUrl(location, hop.url);
  if (next === null) {
    throw new BulkheadError("network_error", `Cannot follow the redirect of "${hop.url.host}": it names no URL.`);
  }
  const url = parseUrl(next.href, schemes);
  const becomesGet = status === 303 && hop.method !== "HEAD" ||
    (status === 301 || status === 302) && hop.method === "POST";
  const headers = url.origin === hop.url.origin ? { ...hop.headers } : withoutCredentials(hop.headers);
  if (!becomesGet) return { url, method: hop.method, headers, body: hop.body };
  delete headers["content-type"];
  return { url, method: "GET", headers, body: null };
}

function checkMethod(method: string, body: string | undefined): string {
  const upper = method.toUpperCase();
  if (!["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].includes(upper)) {
    throw new BulkheadError("invalid_request", "Cannot fetch: the method is not one of those an adapter may use.");
  }
  if (body !== undefined && (upper === "GET" || upper === "HEAD")) {
    throw new BulkheadError("invalid_request", `Cannot fetch: a ${upper} request takes no body.`);
  }
  return upper;
}

/** Gives the socket's place free when the body has ended or been left. */
function countedBody(body: ByteReader, release: () => void): ByteReader {
  let open = true;
  const done = () => {
    if (open) release();
    open = false;
  };
  return {
    get ended() {
      return body.ended;
    },
    cancel() {
      body.cancel();
      done();
    },
    async read() {
      try {
        const chunk = await body.read();
        if (chunk === null) done();
        return chunk;
      } catch (error) {
        done();
        throw error;
      }
    },
  };
}
