import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PatternComparison } from "../../../core/packages/permissions/argument-set.ts";

const word = fc.constantFrom("a", "b", "-x", "--m={}", "--m={*}", "--m=a", "{}", "{*}", "{...}", "a{*}", "{*}b", "-{}");
const line = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "));
const lines = fc.array(line, { maxLength: 4 });

describe("PatternComparison", () => {
  it("meets two sets as it meets their patterns one by one", () => {
    fc.assert(
      fc.property(lines, lines, lines, (shared, left, right) => {
        const sets = { ours: [...shared, ...left], theirs: [...right, ...shared] };
        const met = new PatternComparison().meet(sets.ours, sets.theirs);
        const oneByOne = sets.ours.flatMap((a) => sets.theirs.flatMap((b) => new PatternComparison().meet([a], [b])));
        const patterns = new PatternComparison();
        expect(patterns.covers(met, oneByOne)).toBe(true);
        expect(patterns.covers(oneByOne, met)).toBe(true);
        expect(met).toEqual(patterns.meet([...oneByOne].reverse(), oneByOne));
      }),
      { seed: 42, numRuns: 300 },
    );
  });

  it("meets many long patterns with themselves, as they are when all is granted", () => {
    const options = Array.from({ length: 12 }, (_, at) => `--option-number-${at}={}`).join(" ");
    const all = Array.from({ length: 60 }, (_, at) => `${options} --last-${String(at).padStart(2, "0")}={*}`);
    expect(new PatternComparison().meet(all, all)).toEqual(all);
    const comparison = new PatternComparison();
    expect(comparison.meet([...all].reverse(), all)).toEqual(all);
    expect(comparison.covers(all, all)).toBe(true);
  });

  it("refuses patterns that take too long to meet", () => {
    const [left, right] = ["a", "b"].map((side) =>
      Array.from({ length: 200 }, (_, at) => `{...} ${side}{*}${at} {...} {*}${side} {...}`)
    );
    expect(() => new PatternComparison().meet(left!, right!)).toThrow("too long or too many");
  });
});
