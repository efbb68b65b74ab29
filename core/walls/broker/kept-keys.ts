import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ModelEndpoint } from "../../../plugin-sdk/manifest.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import type { EgressEndpoint } from "../agent/model-endpoint.ts";
import type { ModelAddress } from "./model-address.ts";

/** Start of a program, as far as keys can stand in it. */
interface Start {
  env: Readonly<Record<string, string>>;
  args: readonly string[];
}

/** A start without keys, and the places for which the proxy puts them in, by the variable of their address. */
interface KeptStart {
  env: Record<string, string>;
  args: string[];
  endpoints: Map<string, EgressEndpoint>;
}

/** Beginnings by which programs tell kinds of keys apart; what follows them is secret. */
const keyKind = /^(?:sk-(?:ant-(?:[a-z]{3}\d\d-)?|proj-|or-v\d-|svcacct-|admin-)?|[a-z]{2,4}-|AIza)?/;

/** Keys shorter than this stand in other texts by chance: in those they are not looked for. */
const shortestSought = 8;

/**
 * Replaces each key that the proxy can put in by a stand-in, wherever an adapter put it.
 * @param program its endpoints, and the addresses of its models
 * @throws {BulkheadError} `invalid_request`, `invalid_config` or `invalid_manifest` for an address that the proxy cannot
 * reach, `invalid_config` for a key that no request can hold: the program would have to get the key itself
 */
export function keepKeys(
  { env, args }: Start,
  { binary, endpoints, addresses }: {
    binary: string;
    endpoints: readonly ModelEndpoint[];
    addresses: ReadonlyMap<string, ModelAddress>;
  },
): KeptStart {
  const standIns = new Map<string, { key: string; placeholder: string }>();
  const places = new Map<string, EgressEndpoint & { keys: { key: string; placeholder: string }[] }>();
  for (const { key: variable, base_url } of endpoints.filter(({ program }) => program === binary)) {
    const key = env[variable];
    const address = addresses.get(base_url);
    if (!key || address === undefined) continue;
    const standIn = standIns.get(variable) ??
      { key: checkedKey(key, { binary, variable }), placeholder: placeholderOf(key) };
    standIns.set(variable, standIn);
    const place = places.get(base_url) ??
      { url: checkedAddress(address, { binary, variable: base_url }), unasked: address.by === "client", keys: [] };
    if (!place.keys.includes(standIn)) place.keys.push(standIn);
    places.set(base_url, place);
  }
  const sought = [...standIns.values()].filter(({ key }) => key.length >= shortestSought);
  const without = (text: string) =>
    sought.reduce((changed, { key, placeholder }) => changed.replaceAll(key, placeholder), text);
  const changed = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, without(value)]));
  for (const [variable, { placeholder }] of standIns) changed[variable] = placeholder;
  return { env: changed, args: args.map(without), endpoints: places };
}

function placeholderOf(key: string): string {
  return `${keyKind.exec(key)?.[0] ?? ""}${randomId()}`;
}

function checkedKey(key: string, { binary, variable }: { binary: string; variable: string }): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new BulkheadError(
    "invalid_config",
    `Cannot start "${binary}": the value of ${variable} is no key, since no request could hold it.`,
    { hint: `Set ${variable} to the key alone, without blanks and line ends.`, details: { name: variable } },
  );
}

const codes = { client: "invalid_request", operator: "invalid_config", manifest: "invalid_manifest" } as const;

function checkedAddress(
  { text, by }: ModelAddress,
  { binary, variable }: { binary: string; variable: string },
): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const why = url === null
    ? "is no URL"
    : url.protocol !== "http:" && url.protocol !== "https:"
    ? "is no http or https URL"
    : url.username !== "" || url.password !== ""
    ? "holds a user name or password"
    : url.search !== "" || url.hash !== "" || /[?#]/.test(text)
    ? "holds more than a host and a path"
    : null;
  if (url !== null && why === null) return url;
  throw new BulkheadError(
    codes[by],
    `Cannot start "${binary}": the host cannot send its key to its model: ${variable}, set by the ${by}, ${why}.`,
    { hint: `Set ${variable} to an address such as https://api.example.com.`, details: { name: variable } },
  );
}
