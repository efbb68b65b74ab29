import process from "node:process";
import { expect, test } from "vitest";
import { changedWords, cutAt } from "../../core/doors/console/page/review/changed-words.ts";
import { linesOf, piecesOfHunks, piecesOfLines, sidesOf } from "../../core/doors/console/page/review/diff-lines.ts";
import { treeOf } from "../../core/doors/console/page/review/file-tree-of.ts";
import { readPatch } from "../../core/doors/console/page/review/patch-files.ts";

const patch = [
  "diff --git a/src/a b.ts b/src/a b.ts",
  "index 1..2 100644",
  "--- a/src/a b.ts\t",
  "+++ b/src/a b.ts\t",
  "@@ -10,4 +10,4 @@ function f() {",
  " one",
  "-diff --git a/evil b/evil",
  "+++ not a head",
  " two",
  " three",
  "diff --git a/gone.txt b/gone.txt",
  "deleted file mode 100644",
  "--- a/gone.txt",
  "+++ /dev/null",
  "@@ -1 +0,0 @@",
  "-last",
  "\\ No newline at end of file",
  "diff --git a/pic.png b/pic.png",
  "new file mode 100644",
  "GIT binary patch",
  "literal 3",
  "KcmZQzXw3;5",
  "",
].join("\n");

test("readPatch tells each file's path, kind and counts, whatever its lines say", () => {
  const files = readPatch(patch);
  expect(files.map(({ path, how, added, removed, isBinary }) => [path, how, added, removed, isBinary])).toEqual([
    ["src/a b.ts", null, 1, 1, false],
    ["gone.txt", "deleted", 0, 1, false],
    ["pic.png", "new", 0, 0, true],
  ]);
  expect(linesOf(files[0]!.hunks()[0]!).map((line) => [line.sign, line.old, line.new, line.text])).toEqual([
    [" ", 10, 10, "one"],
    ["-", 11, null, "diff --git a/evil b/evil"],
    ["+", null, 11, "++ not a head"],
    [" ", 12, 12, "two"],
    [" ", 13, 13, "three"],
  ]);
  expect(readPatch("no patch at all")).toEqual([]);
});

test("readPatch reads 5,000 files with 100,000 lines in little time of the processor", () => {
  const body = "+export const value = total(of, many, things);\n".repeat(20);
  const many = Array.from({ length: 5000 }, (_, at) =>
    [
      `diff --git a/many/file-${at}.js b/many/file-${at}.js`,
      "new file mode 100644",
      "--- /dev/null",
      `+++ b/many/file-${at}.js`,
      `@@ -0,0 +1,20 @@\n${body}`,
    ].join("\n")).join("");
  const began = process.cpuUsage();
  expect(readPatch(many)).toHaveLength(5000);
  const ms = process.cpuUsage(began).user / 1000;
  process.stdout.write(`${JSON.stringify({ console_read_patch: { ms: Math.round(ms) } })}\n`);
  expect(ms).toBeLessThan(500);
});

const hunk = (...lines: string[]) => ({ oldStart: 1, newStart: 1, lines });

test("linesOf puts a changed line beside the one that it was, not beside the first", () => {
  const lines = linesOf(
    hunk("-  return words.length;", "-}", "+  // A text.", "+  return String(words.length);", "+}"),
  );
  expect(sidesOf(lines).map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
    [null, "  // A text."],
    ["  return words.length;", "  return String(words.length);"],
    ["}", "}"],
  ]);
});

test("sidesOf shows every line once, in its order", () => {
  const lines = linesOf(hunk(" a", "-b b b", "-c", "+x y z", "+b b d", "-e", "+f", " g"));
  const rows = sidesOf(lines);
  expect(rows.flatMap(({ left }) => left?.sign === "-" ? [left.text] : [])).toEqual(["b b b", "c", "e"]);
  expect(rows.flatMap(({ right }) => right?.sign === "+" ? [right.text] : [])).toEqual(["x y z", "b b d", "f"]);
});

test("piecesOfLines shows what is near a change or was opened, as the hunks did before", () => {
  const all = Array.from({ length: 60 }, (_, at) => at === 29 ? ["-old", "+new"] : [` line ${at + 1}`]).flat();
  const lines = linesOf(hunk(...all));
  const numbers = (pieces: ReturnType<typeof piecesOfLines>) =>
    pieces.map((piece) => "lines" in piece ? piece.lines.length : [piece.from, piece.to]);
  expect(numbers(piecesOfLines(lines, []))).toEqual([[1, 26], 8, [34, 60]]);
  expect(numbers(piecesOfLines(lines, [{ from: 1, to: 10 }]))).toEqual([10, [11, 26], 8, [34, 60]]);
  const hunks = [{ oldStart: 27, newStart: 27, lines: all.slice(26, 34) }];
  expect(numbers(piecesOfHunks(hunks, { isWhole: false }))).toEqual([[1, 26], 8, [34, null]]);
});

test("changedWords marks words, in bounded time, and not lines that have little in common", () => {
  const found = changedWords("const a = total(1);", "const a = sum(1);")!;
  expect(cutAt([{ text: "const a = " }, { text: "sum(1);" }], found.after)).toEqual([
    { text: "const a = ", isChanged: false },
    { text: "sum", isChanged: true },
    { text: "(1);", isChanged: false },
  ]);
  expect(changedWords("alpha beta gamma", "one two three four")).toBeNull();
  const began = performance.now();
  const long = (of: string) => Array.from({ length: 90 }, (_, at) => `${of}${at}`).join(" ");
  changedWords(long("a"), long("b"));
  expect(changedWords("x".repeat(5000), "y".repeat(5000))).toBeNull();
  expect(performance.now() - began).toBeLessThan(500);
});

test("treeOf joins folders with nothing else in them", () => {
  const files = ["a/b/c/one.ts", "a/b/c/two.ts", "top.ts"].map((path) => ({ ...readPatch(patch)[0]!, path }));
  expect(treeOf(files)).toMatchObject({
    files: [{ path: "top.ts" }],
    folders: [{
      name: "a/b/c",
      path: "a/b/c",
      folders: [],
      files: [{ path: "a/b/c/one.ts" }, { path: "a/b/c/two.ts" }],
    }],
  });
});
