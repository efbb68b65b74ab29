import ipaddr from "ipaddr.js";

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
  const text = `http://[${address}]/`;
  return URL.canParse(text) ? new URL(text).hostname.slice(1, -1) : null;
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
