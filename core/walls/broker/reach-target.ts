import ipaddr from "ipaddr.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { EgressRoute } from "../agent/egress-server.ts";
import { resolveAddresses } from "../../ground/platform/net/network.ts";
import type { Demand } from "./authority.ts";
import {
  coversTarget,
  formatTarget,
  isEncrypted,
  isLocalName,
  namesLiterally,
  type NetTarget,
  netTarget,
  readUrl,
} from "../../ground/config/net-target.ts";
import type { BrokerScope } from "./operation.ts";
import { allLookupTurns, lookupTurns } from "./call-turns.ts";

/** Target of an adapter's request, with its headers. */
interface Wanted {
  url: URL;
  headers: Readonly<Record<string, string>>;
}

/** Result of the checks of a {@link Wanted}. */
interface CheckedTarget {
  /** The addresses that were checked. */
  addresses: readonly string[];
  /** Headers with the values of secrets filled in. */
  headers: Record<string, string>;
  /** Aborts on timeout, and when the session ends. */
  signal: AbortSignal;
}

/**
 * Begins an exchange with a granted target; `call_timeout_ms` covers all of it.
 * @throws {BulkheadError} `permission_denied` for a place, an address or a secret that is not granted; `network_error`
 */
export async function reachTarget<T>(
  scope: BrokerScope,
  { url, headers }: Wanted,
  act: (way: CheckedTarget) => Promise<T>,
): Promise<T> {
  const demand: NetDemand = { target: netTarget(url) };
  const { target } = demand;
  await demandNet(scope, demand);
  const deadline = new AbortController();
  const late = new BulkheadError("network_error", `Cannot reach "${url.host}": it did not answer in time.`);
  const timer = setTimeout(() => deadline.abort(late), scope.options.limits.call_timeout_ms);
  const signal = AbortSignal.any([deadline.signal, scope.signal]);
  try {
    const addresses = await checkedAddresses(scope, demand);
    signal.throwIfAborted();
    const isPrivate = isEncrypted(url) || addresses.every((one) => classifyAddress(one) === "loopback");
    const filled = await scope.secrets.fillHeaders(headers, { target, isPrivate });
    signal.throwIfAborted();
    return await act({ addresses, headers: filled, signal });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Parses an adapter's URL with one of the schemes.
 * @throws {BulkheadError} `invalid_request` for another scheme, a user name or a password
 */
export function parseUrl(text: string, schemes: readonly ["http:", "https:"] | readonly ["ws:", "wss:"]): URL {
  const url = readUrl(text);
  if (url === null || !schemes.some((scheme) => scheme === url.protocol)) {
    const names = schemes.map((scheme) => scheme.slice(0, -1)).join(" or ");
    throw new BulkheadError("invalid_request", `Cannot reach the address: it is no ${names} URL.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new BulkheadError("invalid_request", `Cannot reach "${url.host}": the URL holds a user name or password.`);
  }
  return url;
}

/**
 * The way to a place that a contained program wants to reach. Only the hosts that the operator granted its plugin
 * count, not those that the manifest asks for; unasked, no answer of a person counts either.
 * @throws {BulkheadError} as {@link reachTarget}
 */
export async function programRoute(
  scope: BrokerScope,
  { url, isUnasked }: { url: URL; isUnasked: boolean },
): Promise<EgressRoute> {
  const { programNet = [], refusedNet: { denied = () => [], housekeeping = [], toolRuns = () => false } = {} } =
    scope.options;
  const target = netTarget(url);
  const isIn = (hosts: readonly string[]) => hosts.some((host) => coversTarget(host, target));
  const isDenied = () => isIn(denied());
  const isHousekeeping = isIn(housekeeping) && !toolRuns();
  const demand: NetDemand = {
    target,
    granted: programNet,
    isUnasked: isUnasked || isDenied() || isHousekeeping,
    isDenied,
    isHousekeeping,
  };
  await demandNet(scope, demand);
  return { addresses: await checkedAddresses(scope, demand), port: target.port };
}

const sshPort = 22;
const withoutSshKeys =
  "An agent has none of your keys for ssh, so git needs an address with https there, or you push yourself.";

interface NetDemand {
  target: NetTarget;
  /** For a program the operator's hosts, which alone decide. */
  granted?: readonly string[];
  isUnasked?: boolean;
  isDenied?(): boolean;
  isHousekeeping?: boolean;
}

function demandOf({ target, granted, ...kind }: NetDemand): Demand {
  return {
    permission: "net",
    target: formatTarget(target),
    unbounded: granted !== undefined,
    ...kind,
    ...(granted !== undefined && target.port === sshPort ? { reason: withoutSshKeys } : {}),
    ...(granted === undefined
      ? { call: { kind: "net", target } }
      : { isGranted: granted.some((grant) => coversTarget(grant, target)) }),
  };
}

/** Reports a denial alone: whether the place is allowed is known once its addresses are. */
async function demandNet({ authority }: BrokerScope, demand: NetDemand): Promise<void> {
  await authority.demand({ ...demandOf(demand), isReportedLater: true });
}

/**
 * The addresses to connect to. If one of them is not public, denies all, unless the grant spells it out: as the address
 * itself, or as a name that can only be local. An attacker could point a public name at an internal address.
 */
async function checkedAddresses({ authority, options }: BrokerScope, demand: NetDemand): Promise<string[]> {
  const { target, granted, isUnasked = false } = demand;
  const addresses = await lookUp(target.host.replace(/^\[(.*)\]$/, "$1"), options).catch((error: unknown) => {
    authority.allowed(demandOf(demand));
    throw error;
  });
  const spelledOut = (named: NetTarget) =>
    authority.holds({
      permission: "net",
      target: formatTarget(named),
      isUnasked,
      ...(granted === undefined
        ? { call: { kind: "net", target: named, isSpelledOut: true } }
        : { isGranted: granted.some((grant) => namesLiterally(grant, named)) }),
    });
  const isLocal = isLocalName(target.host) && await spelledOut(target);
  for (const address of addresses) {
    if (isLocal || classifyAddress(address) === "public") continue;
    const named = { host: address.includes(":") ? `[${address}]` : address, port: target.port };
    if (await spelledOut(named)) continue;
    throw authority.deny({
      permission: "net",
      target: formatTarget(named),
      subject: formatTarget(target),
      because: `it leads to ${address}, which is not a public address (${classifyAddress(address)})`,
    });
  }
  authority.allowed(demandOf(demand));
  return addresses;
}

function lookUp(host: string, { dataDir, resolve = resolveAddresses }: BrokerScope["options"]): Promise<string[]> {
  return lookupTurns.take(dataDir, () => allLookupTurns.take("all", () => resolve(host)));
}

/** Class of an address; all but `public` are refused unless spelled out. */
type AddressClass = "public" | "loopback" | "private" | "link_local" | "reserved" | "invalid";

/**
 * Classifies a textual IP address after the IANA special-purpose registries. An IPv4 address inside an IPv6 one counts
 * as itself; other ways to reach IPv4 through IPv6 (NAT64, 6to4, Teredo) are reserved.
 */
export function classifyAddress(address: string): AddressClass {
  const text = address.includes(":") ? canonicalIpv6(address) : address;
  if (text === null || !isIp(text)) return "invalid";
  const parsed = ipaddr.process(text);
  if (parsed instanceof ipaddr.IPv4) return isMetadata(parsed.toString()) ? "reserved" : classOf(parsed.range());
  // ::/96 (addresses once "compatible" with IPv4), fec0::/10 and all that is not global unicast 2000::/3.
  const [first = 0] = parsed.parts;
  if (parsed.range() === "unicast" && (first & 0xe000) !== 0x2000) return "reserved";
  return classOf(parsed.range());
}

function isIp(address: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
}

/** Eight hex groups: otherwise `::127.0.0.1` counts as an IPv4 address, which it is not for the system. */
function canonicalIpv6(address: string): string | null {
  return readUrl(`http://[${address}]/`)?.hostname.slice(1, -1) ?? null;
}

function classOf(range: string): AddressClass {
  switch (range) {
    case "unicast":
      return "public";
    case "loopback":
      return "loopback";
    case "private":
    case "carrierGradeNat":
    case "uniqueLocal":
      return "private";
    case "linkLocal":
      return "link_local";
    default:
      return "reserved";
  }
}

/** Public by number, but answered by the cloud's own host (Azure's WireServer, in its documentation). */
function isMetadata(address: string): boolean {
  return address === "168.63.129.16";
}
