import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../plugin-sdk/schema.ts";
import type { Operations } from "../channel/operations.ts";
import type { ByteReader } from "../runtime/byte-reader.ts";
import { type NetworkResponse, resolveAddresses, sendRequest } from "../runtime/network.ts";
import { classifyAddress } from "./classify-address.ts";
import { coversTarget, formatTarget, isLocalName, namesLiterally, type NetTarget, netTarget } from "./net-grants.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import { checkHeaders, withoutCredentials } from "./request-headers.ts";
import { allLookupTurns, lookupTurns } from "./turns.ts";

type FetchArgs = Operations["fetch"]["args"];

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
          headers: Type.Optional(Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 16384 }))),
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

const openCounts = new WeakMap<BrokerScope, number>();

async function fetchUrl(scope: BrokerScope, { url, options }: FetchArgs): Promise<Operations["fetch"]["value"]> {
  const open = openCounts.get(scope) ?? 0;
  if (open >= maxOpen) {
    throw new BulkheadError("limit_exceeded", `Cannot fetch: ${maxOpen} responses of the session are open.`);
  }
  openCounts.set(scope, open + 1);
  const release = () => void openCounts.set(scope, (openCounts.get(scope) ?? 1) - 1);
  try {
    const response = await follow(scope, {
      url: parseUrl(url),
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
  const target = netTarget(url);
  await demandNet(scope, target);
  const deadline = new AbortController();
  const late = new BulkheadError("network_error", `Cannot reach "${url.host}": it did not answer in time.`);
  const timer = setTimeout(() => deadline.abort(late), limits.call_timeout_ms);
  const signal = AbortSignal.any([deadline.signal, scope.signal]);
  try {
    const addresses = await checkedAddresses(scope, target);
    signal.throwIfAborted();
    const maxBytes = Math.min(limits.response_bytes, permissions.limits?.response_bytes ?? Infinity);
    const isPrivate = url.protocol === "https:" || addresses.every((one) => classifyAddress(one) === "loopback");
    const filled = await scope.secrets.fillHeaders(headers, { target, isPrivate });
    signal.throwIfAborted();
    return await sendRequest(url, { method, headers: filled, body, addresses, maxBytes, signal });
  } finally {
    clearTimeout(timer);
  }
}

async function demandNet({ authority }: BrokerScope, target: NetTarget): Promise<void> {
  await authority.demand({
    permission: "net",
    target: formatTarget(target),
    grantedBy: (permissions) => permissions.net?.some((grant) => coversTarget(grant, target)) ?? false,
  });
}

/**
 * The addresses to connect to. If one of them is not public, all are refused, unless it is spelled out: as the address
 * itself, or as a name that can only be local. A public name that leads inwards is what an attacker would make.
 */
async function checkedAddresses({ authority, options }: BrokerScope, target: NetTarget): Promise<string[]> {
  const addresses = await lookUp(target.host.replace(/^\[(.*)\]$/, "$1"), options.dataDir);
  const spelledOut = (named: NetTarget) =>
    authority.holds({
      permission: "net",
      target: formatTarget(named),
      grantedBy: (permissions) => permissions.net?.some((grant) => namesLiterally(grant, named)) ?? false,
    });
  if (isLocalName(target.host) && await spelledOut(target)) return addresses;
  for (const address of addresses) {
    if (classifyAddress(address) === "public") continue;
    const named = { host: address.includes(":") ? `[${address}]` : address, port: target.port };
    if (await spelledOut(named)) continue;
    throw authority.deny({
      permission: "net",
      target: formatTarget(named),
      subject: formatTarget(target),
      because: `it leads to ${address}, which is not a public address (${classifyAddress(address)})`,
      grantedBy: () => false,
    });
  }
  return addresses;
}

function lookUp(host: string, plugin: string): Promise<string[]> {
  return lookupTurns.take(plugin, () => allLookupTurns.take("all", () => resolveAddresses(host)));
}

function nextHop(hop: Hop, { status, location }: { status: number; location: string }): Hop {
  if (!URL.canParse(location, hop.url.href)) {
    throw new BulkheadError("network_error", `Cannot follow the redirect of "${hop.url.host}": it names no URL.`);
  }
  const url = parseUrl(new URL(location, hop.url).href);
  const becomesGet = status === 303 && hop.method !== "HEAD" ||
    (status === 301 || status === 302) && hop.method === "POST";
  const headers = url.origin === hop.url.origin ? { ...hop.headers } : withoutCredentials(hop.headers);
  if (!becomesGet) return { url, method: hop.method, headers, body: hop.body };
  delete headers["content-type"];
  return { url, method: "GET", headers, body: null };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new BulkheadError("invalid_request", "Cannot fetch: the address is not an http or https URL.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new BulkheadError(
      "invalid_request",
      `Cannot fetch from "${url.host}": the URL holds a user name or password.`,
    );
  }
  return url;
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
