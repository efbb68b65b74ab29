import { describe, expect, it } from "vitest";
import { isSameSource } from "../../../core/packages/install/source-policy.ts";

describe("isSameSource", () => {
  const isSame = (a: string, b: string) => isSameSource({ type: "remote", url: a }, { type: "remote", url: b });

  it("takes another version at an address as the same, in whatever folder it lies", () => {
    for (
      const [a, b] of [
        ["https://a.example/x-1.0.0.tgz", "https://a.example/x-1.1.0.tgz?raw"],
        ["https://host.example/ann/x/releases/v1/x.tgz", "https://host.example/ann/x/releases/v2/x.tgz"],
      ] as const
    ) expect(isSame(a, b)).toBe(true);
  });

  it("I11: takes another publisher at the same host, or the host without TLS, as another source", () => {
    const own = "https://host.example/ann/x/releases/v1/x.tgz";
    for (
      const other of [
        "https://host.example/bob/x/releases/v1/x.tgz",
        "https://host.example/bob/../bob/x.tgz",
        "https://host.example/x.tgz",
        "http://host.example/ann/x/releases/v1/x.tgz",
        "https://host.example:8443/ann/x/releases/v1/x.tgz",
        "https://other.example/ann/x/releases/v1/x.tgz",
      ]
    ) expect(isSame(own, other)).toBe(false);
  });
});
