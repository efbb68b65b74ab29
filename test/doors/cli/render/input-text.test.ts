import { expect, test } from "vitest";
import { askedText } from "../../../../core/doors/cli/render/input-text.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";

const plain = { paint: createPaint(false), columns: 80 };

test.each([
  ["an edit", { file_path: "a.ts", old_string: "one\ntwo\nthree", new_string: "one\n2\nthree" }],
  ["an edit in other words", { path: "a.ts", old_str: "one\ntwo\nthree\n", new_str: "one\n2\nthree\n" }],
  ["several edits", { file_path: "a.ts", edits: [{ old_string: "one\ntwo\nthree", new_string: "one\n2\nthree" }] }],
  ["a diff of ACP", {
    content: [{ type: "diff", path: "a.ts", oldText: "one\r\ntwo\r\nthree", newText: "one\r\n2\r\nthree" }],
  }],
  ["a patch", { path: "a.ts", patch: " one\n-two\n+2\n three\n" }],
  ["patches by path", { changes: { "a.ts": { update: { unified_diff: " one\n-two\n+2\n three\n" } } } }],
])("askedText shows %s as a diff", (_, input) => {
  expect(askedText(input, plain)).toBe("  │ a.ts\n  │  one\n  │ -two\n  │ +2\n  │  three\n");
});

test("askedText shows what a new file will hold, and else what the input says", () => {
  expect(askedText({ file_path: "new.md", content: "# New\n" }, plain)).toBe("  │ new.md\n  │ +# New\n");
  expect(askedText({ command: "ls" }, plain)).toBe("  │ ls\n");
  expect(askedText({ text: 1 }, plain)).toBe("  │ text=1\n");
  expect(askedText(undefined, plain)).toBe("");
});

test("askedText is bounded, says what it leaves out, and breaks long lines", () => {
  const many = askedText({ file_path: "a", content: "line\n".repeat(500) }, plain).split("\n");
  expect(many).toHaveLength(32);
  expect(many[30]).toBe("  │ … and 471 more lines");
  const long = askedText({ command: `echo ${"x".repeat(100)} && rm -r /` }, plain);
  expect(long.split("\n  │ ").join("").trim()).toBe(`│ echo ${"x".repeat(100)} && rm -r /`);
  expect(askedText({ command: "x".repeat(1_000_000) }, plain).split("\n")).toHaveLength(32);
});

test("askedText colours on a terminal alone, and shows no escape sequence of an agent", () => {
  const input = { file_path: "a", old_string: "x\u001b[2J", new_string: "y" };
  expect(askedText(input, plain)).toBe("  │ a\n  │ -x\\u{1b}[2J\n  │ +y\n");
  expect(askedText(input, { paint: createPaint(true), columns: 80 })).toContain("\u001b[31m-x\\u{1b}[2J\u001b[39m");
});
