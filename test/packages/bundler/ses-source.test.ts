import fc from "fast-check";
import { describe, expect, it } from "vitest";
// @ts-expect-error the shim's own checks, which it does not export
// deno-lint-ignore house/ts-imports -- the library does not export what it refuses scripts by
import { mandatoryTransforms, rejectSomeDirectEvalExpressions } from "../../../node_modules/ses/src/transforms.js";
import { applyEdits, beforeEdits } from "../../../core/packages/manifest/edits.ts";
import { mendForCompartment } from "../../../core/packages/bundler/ses-source.ts";

function mended(text: string): string {
  const { edits, faults } = mendForCompartment(text);
  expect(faults).toEqual([]);
  const after = applyEdits(text, edits);
  mandatoryTransforms(after);
  rejectSomeDirectEvalExpressions(after);
  return after;
}

const run = (text: string): unknown => (0, eval)(text);

const pieces = fc.array(
  fc.constantFrom(
    "<!--",
    "-->",
    "import(",
    "import (",
    "import//",
    "eval(",
    "eval (",
    "...import(",
    ".import(",
    "$import(",
    "<",
    "-",
    "!",
    ">",
    "\\",
    " ",
    "a",
    "'",
    '"',
    "`",
    "${",
    "\n",
    "é",
    "(",
    "[",
    "]",
  ),
  { maxLength: 12 },
).map((parts) => parts.join(""));

describe("mendForCompartment", () => {
  it("leaves a script alone that needs nothing, without parsing it", () => {
    expect(mendForCompartment("this is no JavaScript; a.import(x); imported(y)")).toEqual({ edits: [], faults: [] });
  });

  it("keeps every string's value, whatever it holds", () => {
    fc.assert(
      fc.property(pieces, (text) => {
        const double = JSON.stringify(text);
        expect(run(mended(`(${double})`))).toBe(text);
        const single = `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
        expect(run(mended(`(${single})`))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps every template's value", () => {
    fc.assert(
      fc.property(pieces, pieces, (a, b) => {
        const quoted = (text: string) => text.replace(/[\\`]|\$\{/g, "\\$&");
        expect(run(mended(`(\`${quoted(a)}\${1}${quoted(b)}\`)`))).toBe(`${a}1${b}`);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["/<!--/", "<!--", "< !--"],
    ["/[<!--]/", "-", "a"],
    ["/[a\\]<!--b]+$/", "]<!--b", "c"],
    ["/(?<!--)x/", "x", "--x"],
    ["/(?<!a)<!--/", "<!--", "a<!--"],
    ["/a\\<!--/", "a<!--", "a"],
    ["/-->/", "-->", "-- >"],
    ["/[--->]/", "-", "a"],
    ["/import(?:x)/", "importx", "import"],
    ["/\\import(x)/", "importx", "mport"],
    ["/eval(x)/", "evalx", "eval"],
    ["/import//2 || /x/", "import/2", "nothing"],
  ])("keeps what %s matches", (source, match, other) => {
    if (source.includes("//2")) return expect(run(mended("(/import//2)"))).toBeNaN();
    const pattern = run(mended(`(${source})`)) as RegExp;
    const before = run(`(${source})`) as RegExp;
    expect([pattern.test(match), pattern.test(other)]).toEqual([before.test(match), before.test(other)]);
    expect(pattern.test(match)).toBe(true);
    return expect(pattern.test(other)).toBe(false);
  });

  it("keeps names and operators that only look like it", () => {
    expect(run(mended("(() => { let a = 3, n = 0; while (a-->0) n++; return n; })()"))).toBe(3);
    expect(run(mended("(class { static import() { return 1; } static get() { return this.import(); } }).get()"))).toBe(
      1,
    );
    expect(run(mended("({ import(x) { return x; }, eval(x) { return x + 1; } }).import(4)"))).toBe(4);
    expect(run(mended("(() => { const $import = (x) => x; return $import(5); })()"))).toBe(5);
    expect(run(mended("(() => { const éeval = (x) => x; return éeval(6); })()"))).toBe(6);
    expect(run(mended("(new class { #import(x) { return x; } go() { return this.#import(7); } }).go()"))).toBe(7);
  });

  it.each([
    ["x => import(x)", 5, /one script/],
    ["[...import(x)]", 4, /one script/],
    ["x => eval (x)", 5, /eval\(\) does not exist/],
    ["a;String.raw`-->`", 12, /tagged template holds "-->"/],
    ["tag`${1}import(`", 7, /tagged template holds "import\("/],
    ["a = '<!--' b", 11, /cannot read this/],
  ])("finds %s unmendable", (text, start, message) => {
    const { faults } = mendForCompartment(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toMatch(message);
    expect(faults[0]?.start).toBe(start);
  });

  it("does not overflow on a very long chain of operators", () => {
    const text = `"<!--"+${Array(3000).fill('"a"').join("+")}`;
    expect(run(mended(text))).toBe(`<!--${"a".repeat(3000)}`);
  });
});

describe("beforeEdits", () => {
  it("finds where each kept character stood", () => {
    fc.assert(fc.property(pieces, pieces, (a, b) => {
      const text = `[${JSON.stringify(a)},${JSON.stringify(b)}]`;
      const { edits } = mendForCompartment(text);
      const after = applyEdits(text, edits);
      const touched = new Set(
        edits.flatMap(({ start, removed }) => Array.from({ length: removed }, (_, n) => start + n)),
      );
      let last = -1;
      for (let offset = 0; offset < after.length; offset++) {
        const before = beforeEdits(offset, edits);
        expect(before).toBeGreaterThanOrEqual(last);
        last = before;
      }
      const kept = [...text].length === text.length ? text.length - touched.size : 0;
      if (kept > 0) expect(beforeEdits(after.length - 1, edits)).toBe(text.length - 1);
    }));
    const edits = [{ start: 2, removed: 1, inserted: "\\x3c" }];
    expect(applyEdits("ab<!c", edits)).toBe("ab\\x3c!c");
    expect([0, 1, 2, 6, 7].map((offset) => beforeEdits(offset, edits))).toEqual([0, 1, 2, 3, 4]);
  });
});
