import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RawChange, RawDiffReader } from "../../../core/records/git/raw-diff.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const path = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => bytes.map((byte) => byte === 0 ? 58 : byte));
const id = fc.stringMatching(/^[0-9a-f]{40}$/);

function read(records: readonly Uint8Array[]): RawChange[] {
  const reader = new RawDiffReader();
  for (const record of records) reader.read(record);
  return reader.end();
}

describe("RawDiffReader", () => {
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
      expect(read(records)).toEqual(changes.map(({ other, objectId: _, ...change }) => ({
        ...change,
        from: change.status === "R" ? other : null,
      })));
    }));
  });

  it("takes a change of type as a modification", () => {
    const output = [encode(`:100644 120000 ${"0".repeat(40)} ${"1".repeat(40)} T`), encode("a")];
    expect(read(output)).toMatchObject([{ status: "M", oldMode: "100644", newMode: "120000" }]);
  });

  it("throws at what is no raw diff", () => {
    expect(() => read([encode("hello"), encode("a")])).toThrow('Cannot read git\'s raw diff: "hello".');
    expect(() => read([encode(`:100644 100644 ${"0".repeat(40)} ${"1".repeat(40)} M`)])).toThrow(SyntaxError);
  });
});
