import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { endOfBody } from "./body-parser.ts";
import { decodedPath } from "./decoded-path.ts";
import type { RequestHead } from "./http-head.ts";
import type { Wire } from "./wire.ts";

/** A place whose keys the client does not have. */
export interface EgressEndpoint {
  /** Address of the place; its path comes before that of each request. */
  url: URL;
  keys: readonly StandIn[];
  /** Whether only a grant lets requests through, and no answer of the session's client: it named the address. */
  unasked?: boolean;
  /** They follow each request to the place, in this order. */
  wires?: readonly Wire[];
}

/** Text that a client has instead of a key. */
interface StandIn {
  placeholder: string;
  key: string;
}

/** A request to an endpoint, with the keys in place. */
export interface EndpointRequest {
  url: URL;
  head: RequestHead;
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Fields for a key, and nothing but a key, perhaps after the name of a scheme. */
const credentialFields: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "x-litellm-api-key",
  "ocp-apim-subscription-key",
]);

/** Parameter of a query that some models take their key from. */
const keyParameter = "key=";

/**
 * Fields that a far end could read as another method, path or part of the answer than the one that was checked, or by
 * which it would encode an answer so that no key is found in it; and the one that the proxy itself answers.
 */
const dropped =
  /^(?:accept-encoding|expect|forwarded|if-range|max-forwards|range|te|trailer|via|x-forwarded-.*|x-http-method.*|x-method-override|x-original-.*|x-rewrite-.*|sec-websocket-.*)$/;

/**
 * The request of a client to a path of the proxy itself, as one to its endpoint. A stand-in is exchanged only where
 * credentials stand.
 * @param below what follows the endpoint's name in the target
 * @throws {BulkheadError} `invalid_request` for a method, path or framing that could lead a key elsewhere
 */
export function toEndpoint(
  head: RequestHead,
  { endpoint, below }: { endpoint: EgressEndpoint; below: string },
): EndpointRequest {
  if (!methods.has(head.method)) throw refused(`the method ${head.method} is none of a model's`);
  if (endOfBody(head) === null) throw refused("it does not say once where its body ends");
  const [, path = "", query] = /^([^?]*)(\?.*)?$/.exec(below) ?? [];
  if (!staysBelow(path)) throw refused("its path could lead out of the model's address");
  const { url, keys } = endpoint;
  const base = `${url.origin}${url.pathname.replace(/\/$/, "")}`;
  const headers = head.headers.filter(([name]) => !dropped.test(name.toLowerCase()))
    .map(([name, value]) => [name, withKey(name, { value, keys })] as const);
  return {
    url: new URL(`${base}${path}${queryWithKey(query ?? "", keys)}`),
    head: { ...head, headers: [...headers, ["Accept-Encoding", "identity"]] },
  };
}

function refused(why: string): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot send the request to the model: ${why}.`);
}

/**
 * Bytes of a path: no control, `#` or backslash, and not the two that no UTF-8 holds, since lenient readers take those for
 * the beginning of a dot or a slash.
 */
const pathBytes = /^[\x20-\x22\x24-\x5b\x5d-\x7e\x80-\xbf\xc2-\xff]*$/;

/** Whether no reader, however often it decodes, finds in a path a step to its parent or to another place. */
function staysBelow(path: string): boolean {
  if (path !== "" && !path.startsWith("/")) return false;
  const decoded = decodedPath(path);
  if (decoded === null || !pathBytes.test(decoded)) return false;
  const [, ...parts] = decoded.split("/");
  return parts.every((part, index) => {
    const name = part.replace(/;.*$/s, "");
    return name !== "." && name !== ".." && (name !== "" || index === parts.length - 1 && part === "");
  });
}

function withKey(name: string, { value, keys }: { value: string; keys: readonly StandIn[] }): string {
  if (!credentialFields.has(name.toLowerCase())) return value;
  const [, scheme = "", text] = /^([A-Za-z]+ +)?(\S+)\s*$/.exec(value) ?? [];
  const found = keys.find(({ placeholder }) => placeholder === text);
  return found === undefined ? value : `${scheme}${found.key}`;
}

function queryWithKey(query: string, keys: readonly StandIn[]): string {
  if (query === "") return "";
  const parts = query.slice(1).split("&").map((part) => {
    const found = keys.find(({ placeholder }) => part === `${keyParameter}${placeholder}`);
    return found === undefined ? part : `${keyParameter}${encodeURIComponent(found.key)}`;
  });
  return `?${parts.join("&")}`;
}
