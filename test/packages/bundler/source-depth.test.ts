import { describe, expect, it } from "vitest";
import { findTooDeep } from "../../../core/packages/bundler/source-depth.ts";

describe("findTooDeep", () => {
  it.each([
    "[[[]]]",
    "a({ b: [1] }); c({ d: [2] });",
    "\"[[[[\" + '((((' + `{{{{`",
    "// [[[[\n/* (((( */ [[[]]]",
    "a = /[[(]{{{{((((/; b = c / d / [[[]]]",
    "return /((((/.test(x) ? [1] : [2]",
    "`${[[`[[[[`]]}`",
    "`\\`[[[[${a}[[[[`",
    '"\\"[[[["',
    "])}])}[[[",
    "a++ / [[[1]]] / 2",
  ])("takes %s", (text) => {
    expect(findTooDeep(text, 3)).toBeNull();
  });

  it.each([
    ["[[[[", 3],
    ["a({b:[{", 6],
    ["`${[{(", 5],
    ["`${`${`${`${", 11],
    ["f() / [[[[ / 1", 9],
    ['"a" + [[[[', 9],
    ["don't\n[[[[", 9],
  ])("finds the bracket of %s", (text, at) => {
    expect(findTooDeep(text, 3)).toBe(at);
  });

  it("takes no longer for a line of slashes than for any other", () => {
    const begun = performance.now();
    expect(findTooDeep("a=/[".repeat(500_000), 2_000_000)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(5000);
  });
});
