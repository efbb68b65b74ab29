import fc from "fast-check";
import { expect, test } from "vitest";
import { weightOf } from "../../../core/walls/channel/weight.ts";

/** Without what JSON puts a backslash before, and without numbers of more than eight characters. */
const { value: plain } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.stringMatching(/^[a-z ]{0,30}$/),
    fc.integer({ min: -999_999, max: 999_999 }),
    fc.constantFrom(true, false, null),
    fc.array(tie("value")),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), tie("value")),
  ),
}));

test("weightOf is never less than the length of the JSON but for escapes, and not much more", () => {
  fc.assert(fc.property(plain, (value) => {
    const { length } = JSON.stringify(value);
    expect(weightOf(value)).toBeGreaterThanOrEqual(length);
    expect(weightOf(value)).toBeLessThanOrEqual(8 * length);
  }));
});
