import { describe, expect, test } from "vitest";
import {
  coversTarget,
  formatTarget,
  isLocalName,
  namesLiterally,
  netTarget,
} from "../../../core/ground/config/net-target.ts";

const target = (url: string) => netTarget(new URL(url));

describe("netTarget", () => {
  test.each([
    ["https://Example.COM/x", "example.com:443"],
    ["http://example.com", "example.com:80"],
    ["https://example.com:8443", "example.com:8443"],
    ["https://example.com./", "example.com:443"],
    ["http://0177.0.0.1/", "127.0.0.1:80"],
    ["http://2130706433:99/", "127.0.0.1:99"],
    ["http://0x7f.1/", "127.0.0.1:80"],
    ["http://[0:0::1]:81/", "[::1]:81"],
    ["https://bücher.example/", "xn--bcher-kva.example:443"],
    ["https://example.com\\@evil.test/", "example.com:443"],
  ])("of %s is %s", (url, expected) => {
    expect(formatTarget(target(url))).toBe(expected);
  });
});

describe("coversTarget", () => {
  test("says the same of names beyond ASCII, however often it is asked", () => {
    const answers = new Set<string>();
    for (let n = 0; n < 20_000; n++) {
      const isCovered = coversTarget("é.fr:443", target("https://é.fr/"));
      answers.add(`${isCovered} ${coversTarget("1Ý:80", target("http://127.0.0.1/"))}`);
    }
    expect([...answers]).toEqual(["true false"]);
  });

  test.each([
    ["example.com:443", "https://example.com", true],
    ["EXAMPLE.com:443", "https://example.com", true],
    ["example.com.:443", "https://example.com", true],
    ["bücher.example:443", "https://xn--bcher-kva.example", true],
    ["example.com:443", "http://example.com", false],
    ["example.com:443", "https://www.example.com", false],
    ["example.com:443", "https://example.com.evil.test", false],
    ["example.com:443", "https://evilexample.com", false],
    ["*.example.com:443", "https://a.example.com", true],
    ["*.example.com:443", "https://a.b.example.com", true],
    ["*.example.com:443", "https://example.com", false],
    ["*.example.com:443", "https://aexample.com", false],
    ["*.com:443", "https://example.com", false],
    ["*:443", "https://example.com", false],
    ["*", "https://example.com", false],
    ["example.com", "https://example.com", false],
    ["https://example.com:443", "https://example.com", false],
    ["x@example.com:443", "https://example.com", false],
    ["[::1]:80", "http://[::1]", true],
    ["", "https://example.com", false],
  ])("of %s and %s is %s", (grant, url, expected) => {
    expect(coversTarget(grant, target(url))).toBe(expected);
  });
});

test("namesLiterally does not count wildcards", () => {
  expect(namesLiterally("*.example.com:443", target("https://a.example.com"))).toBe(false);
  expect(namesLiterally("a.example.com:443", target("https://a.example.com"))).toBe(true);
});

test.each([
  ["localhost", true],
  ["box", true],
  ["db.localhost", true],
  ["printer.local", true],
  ["example.com", false],
  ["127.0.0.1", false],
  ["[::1]", false],
  ["local.example.com", false],
])("isLocalName of %s is %s", (host, expected) => {
  expect(isLocalName(host)).toBe(expected);
});
