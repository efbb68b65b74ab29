import { describe, expect, it } from "vitest";
import { Sequence } from "../../../../core/ground/platform/engine/sequence.ts";

describe("Sequence", () => {
  it("begins an act only once the one before has settled, and gives each caller its own result", async () => {
    const sequence = new Sequence();
    const told: string[] = [];
    const first = sequence.run(async () => {
      told.push("first begins");
      await Promise.resolve();
      told.push("first ends");
      return 1;
    });
    const second = sequence.run(() => {
      told.push("second begins");
      return Promise.resolve(2);
    });
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(told).toEqual(["first begins", "first ends", "second begins"]);
  });

  it("goes on after an act that fails, and tells its failure to its caller alone", async () => {
    const sequence = new Sequence();
    const failing = sequence.run(() => Promise.reject(new Error("no")));
    const next = sequence.run(() => Promise.resolve("yes"));
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });
});
