import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyAddress } from "../../../core/walls/broker/reach-target.ts";

/** IPv4 ranges that are not public (IANA special-purpose registry): first address and prefix length. */
const closedRanges: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function isClosed(value: number): boolean {
  return closedRanges.some(([base, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor(toNumber(base) / size);
  });
}

describe("classifyAddress", () => {
  test.each([
    ["8.8.8.8", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["10.1.2.3", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["169.254.169.254", "link_local"],
    ["168.63.129.16", "reserved"],
    ["0.0.0.0", "reserved"],
    ["255.255.255.255", "reserved"],
    ["224.0.0.1", "reserved"],
    ["192.0.2.1", "reserved"],
    ["198.18.0.1", "reserved"],
    ["2606:4700:4700::1111", "public"],
    ["::1", "loopback"],
    ["::", "reserved"],
    ["fe80::1", "link_local"],
    ["fd00:ec2::254", "private"],
    ["fec0::1", "reserved"],
    ["ff02::1", "reserved"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:a00:1", "private"],
    ["::ffff:8.8.8.8", "public"],
    ["::127.0.0.1", "reserved"],
    ["64:ff9b::7f00:1", "reserved"],
    ["2002:7f00:1::", "reserved"],
    ["2001:0:7f00:1::", "reserved"],
    ["2001:db8::1", "reserved"],
    ["100::1", "reserved"],
    ["4000::1", "reserved"],
    ["0177.0.0.1", "invalid"],
    ["2130706433", "invalid"],
    ["0x7f.1", "invalid"],
    ["127.1", "invalid"],
    ["localhost", "invalid"],
    ["", "invalid"],
  ])("of %s is %s", (address, expected) => {
    expect(classifyAddress(address)).toBe(expected);
  });

  const anyV4 = fc.oneof(
    fc.nat(0xffffffff),
    fc.constantFrom(...closedRanges).chain(([base, bits]) =>
      fc.nat(2 ** (32 - bits) - 1).map((offset) => toNumber(base) + offset)
    ),
  );

  test("is never public for an IPv4 address in a special range", () => {
    fc.assert(
      fc.property(anyV4, (value) => {
        if (isClosed(value)) expect(classifyAddress(toText(value))).not.toBe("public");
      }),
      { numRuns: 2000 },
    );
  });

  test("is the same for an IPv4 address written inside an IPv6 one", () => {
    fc.assert(
      fc.property(anyV4, (value) => {
        const mapped = `::ffff:${Math.floor(value / 65536).toString(16)}:${(value % 65536).toString(16)}`;
        expect(classifyAddress(mapped)).toBe(classifyAddress(toText(value)));
      }),
      { numRuns: 2000 },
    );
  });

  test("is never public for an IPv6 address outside global unicast", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (parts) => {
        fc.pre((parts[0] ?? 0) >>> 13 !== 1 && !parts.slice(0, 5).every((part) => part === 0));
        expect(classifyAddress(parts.map((part) => part.toString(16)).join(":"))).not.toBe("public");
      }),
      { numRuns: 1000 },
    );
  });

  /** Blocks inside global unicast that lead elsewhere or nowhere (IANA IPv6 special-purpose registry): bits and length. */
  const closedIpv6: [string, number][] = [
    ["2001:db8::", 32],
    ["2001::", 32],
    ["2001:20::", 28],
    ["2002::", 16],
  ];

  test("is never public in the closed blocks of global unicast, whatever address one embeds", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...closedIpv6),
        fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }),
        ([base, bits], tail) => {
          const head = [...base.replace("::", "").split(":").map((part) => parseInt(part, 16)), 0, 0, 0, 0, 0, 0, 0]
            .slice(0, 8);
          const parts = head.map((part, index) => {
            const kept = Math.min(16, Math.max(0, bits - 16 * index));
            const mask = 0xffff & (0xffff << (16 - kept));
            return (part & mask) | (tail[index]! & ~mask & 0xffff);
          });
          expect(classifyAddress(parts.map((part) => part.toString(16)).join(":"))).not.toBe("public");
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("does not depend on how an IPv6 address is spelled", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 }), (parts) => {
        const long = parts.map((part) => part.toString(16).padStart(4, "0")).join(":");
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        for (const text of [long.toUpperCase(), short]) expect(classifyAddress(text)).toBe(classifyAddress(long));
      }),
      { numRuns: 1000 },
    );
  });

  test("of any text that is no address is invalid, and never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6().map((one) => `${one}%eth0`)), (text) => {
        expect(["public", "loopback", "private", "link_local", "reserved", "invalid"]).toContain(classifyAddress(text));
        if (/[^0-9a-f:.]/i.test(text)) expect(classifyAddress(text)).toBe("invalid");
      }),
      { numRuns: 1000 },
    );
  });
});
