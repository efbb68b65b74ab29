import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { type Find, judge, runFuzz } from "./run-fuzz.ts";
import { targets } from "./targets/all.ts";

const minute = 60_000;

describe("fuzzing", () => {
  test("every seed of every target is read without a fault", async () => {
    const faults: string[] = [];
    for (const target of targets) {
      for (const seed of target.seeds) {
        const problem = await judge(target, seed);
        if (problem !== null) faults.push(`${target.name}: ${problem}`);
      }
      await target.close?.();
    }
    expect(faults).toEqual([]);
  }, minute);

  test("20,000 inputs made from seed 1 find nothing", async () => {
    expect(await runFuzz({ seed: 1, runs: 20_000 })).toEqual([]);
  }, 4 * minute);

  test("the same seed makes the same inputs", async () => {
    const inputs = async (seed: number) => {
      const made: string[] = [];
      await runFuzz({ seed, runs: 50, only: "path", onInput: ({ input }) => void made.push(input) });
      return made;
    };
    expect(await inputs(7)).toEqual(await inputs(7));
    expect(await inputs(7)).not.toEqual(await inputs(8));
  });

  test("a fault is found: an error that is none of ours, a broken promise, a slow answer", async () => {
    const target = { name: "x", weight: 1, seeds: ["x"], tokens: ["x"] };
    expect(await judge({ ...target, read: () => JSON.parse("{") }, "x")).toMatch(/It threw SyntaxError/);
    expect(await judge({ ...target, read: () => Promise.reject(new RangeError("deep")) }, "x")).toMatch(
      /It threw RangeError/,
    );
    const slow = () => JSON.parse(JSON.stringify(Array.from({ length: 200_000 }, (_, n) => ({ n }))));
    expect(await judge({ ...target, read: slow }, "x", { maxMs: 1 })).toMatch(/It took/);
    expect(await judge({ ...target, read: () => {} }, "x")).toBeNull();
  });
});

test("everything that fuzzing ever found stays mended", async () => {
  const folder = new URL("finds/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const faults: string[] = [];
  for (const name of names) {
    const { target, input } = JSON.parse(await readFile(new URL(name, folder), "utf8")) as Find;
    const known = targets.find((one) => one.name === target);
    const problem = known ? await judge(known, input) : "its target is gone";
    if (problem !== null) faults.push(`${name}: ${problem}`);
    await known?.close?.();
  }
  expect(faults).toEqual([]);
}, minute);
