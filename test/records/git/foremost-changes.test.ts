import { describe, expect, it } from "vitest";
import { foremostChanges } from "../../../core/records/git/foremost-changes.ts";
import type { RawChange } from "../../../core/records/git/raw-diff.ts";

function change(status: RawChange["status"], path: string): RawChange {
  return { status, oldMode: "100644", newMode: "100644", path: new TextEncoder().encode(path), from: null };
}

const textOf = ({ path }: RawChange) => new TextDecoder().decode(path);

describe("foremostChanges", () => {
  it("takes all where there is room", async () => {
    const { foremost, others } = await foremostChanges([change("A", "b"), change("M", "a")], new Set());
    expect([foremost.map(textOf).sort(), others]).toEqual([["a", "b"], []]);
  });

  it("takes files that were there before first, then those that are tracked now, then the rest", async () => {
    const flood = Array.from({ length: 20_000 }, (_, index) => change("A", `a/${index}`));
    const told = [...flood, change("A", "tracked"), change("M", "m"), change("D", "d"), change("R", "r")];
    const { foremost, others } = await foremostChanges(told, new Set(["tracked"]));
    expect(foremost.slice(0, 4).map(textOf)).toEqual(["m", "d", "r", "tracked"]);
    expect([foremost.length, others.length]).toEqual([10_000, 10_004]);
    expect(new Set([...foremost, ...others]).size).toBe(20_004);
  });

  it("takes no more than four megabytes of paths", async () => {
    const long = Array.from({ length: 3000 }, (_, index) => change("A", `${index}${"x".repeat(4000)}`));
    const { foremost, others } = await foremostChanges(long, new Set());
    const bytes = foremost.reduce((total, { path }) => total + path.byteLength, 0);
    expect(bytes).toBeGreaterThan(4 * 1024 * 1024 - 5000);
    expect(bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(foremost.length + others.length).toBe(3000);
  });
});
