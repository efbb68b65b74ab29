import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinNul, splitNul } from "../../../core/records/git/git-call.ts";
import { parseRawDiff } from "../../../core/records/git/raw-diff.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const path = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => bytes.map((byte) => byte === 0 ? 58 : byte));
const id = fc.stringMatching(/^[0-9a-f]{40}$/);

describe("parseRawDiff", () => {
  it("reads back any list of changes, whatever bytes their paths hold", () => {
    const mode = fc.constantFrom("100644", "100755", "120000", "160000");
    const change = fc.record({
      status: fc.constantFrom("A", "D", "M", "R" as const),
      oldMode: mode,
      newMode: mode,
      objectId: id,
      path,
      other: path,
    });
    fc.assert(fc.property(fc.array(change), (changes) => {
      const records = changes.flatMap(({ status, oldMode, newMode, objectId, path, other }) => [
        encode(`:${oldMode} ${newMode} ${"0".repeat(40)} ${objectId} ${status === "R" ? "R087" : status}`),
        ...(status === "R" ? [other, path] : [path]),
      ]);
      expect(parseRawDiff(joinNul(records))).toEqual(changes.map(({ other, ...change }) => ({
        ...change,
        from: change.status === "R" ? other : null,
      })));
    }));
  });

  it("takes a change of type as a modification", () => {
    const output = joinNul([encode(`:100644 120000 ${"0".repeat(40)} ${"1".repeat(40)} T`), encode("a")]);
    expect(parseRawDiff(output)).toMatchObject([{ status: "M", oldMode: "100644", newMode: "120000" }]);
  });

  it("throws at what is no raw diff", () => {
    expect(() => parseRawDiff(encode("hello\0a\0"))).toThrow('Cannot read git\'s raw diff: "hello".');
    expect(() => parseRawDiff(encode(`:100644 100644 ${"0".repeat(40)} ${"1".repeat(40)} M\0`))).toThrow(SyntaxError);
  });
});

describe("splitNul", () => {
  it("gives back what joinNul joined", () => {
    fc.assert(fc.property(fc.array(path), (records) => {
      expect(splitNul(joinNul(records)).map((record) => [...record])).toEqual(records.map((record) => [...record]));
    }));
  });
});
