import { expect, test } from "vitest";
import { type ReadMarkdown, readMarkdown } from "../../../../../core/doors/console/page/rows/read-markdown.ts";

const said = `# Done

I changed \`tally\` and **tested** it:

- one
- two

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`

| Name | Value |
| ---- | ----: |
| a    | 1     |

Last words.
`;

test("readMarkdown finds the blocks of a text, and each has its part of the source", () => {
  const { blocks } = readMarkdown(said)!;
  expect(blocks.map(({ token }) => token.type)).toEqual(["heading", "paragraph", "list", "code", "table", "paragraph"]);
  expect(blocks.map(({ raw }) => raw).join("")).toBe(said);
});

test("readMarkdown reads only the last block of a text again that goes on, and finds what it finds in the whole", () => {
  let read = null as ReadMarkdown | null;
  let same = 0;
  for (let end = 1; end <= said.length; end++) {
    const next: ReadMarkdown = readMarkdown(said.slice(0, end), read)!;
    const kept = (read?.blocks ?? []).slice(0, -1);
    expect(next.blocks.slice(0, kept.length).every((block, at) => block === kept[at])).toBe(true);
    same += kept.length;
    read = next;
  }
  expect(same).toBeGreaterThan(400);
  expect(read!.blocks).toEqual(readMarkdown(said)!.blocks);
});

test("readMarkdown reads a text anew that does not continue the one before", () => {
  const before = readMarkdown("one\n\ntwo\n\nthree");
  expect(readMarkdown("one\n\nother", before)).toEqual(readMarkdown("one\n\nother"));
});

test("readMarkdown leaves terminal colours, long texts and deep ones plain", () => {
  const deep = [..."x".repeat(40)].map((_, at) => `${"  ".repeat(at)}- a`).join("\n");
  const texts = [
    "\u001b[1mbold\u001b[0m",
    "word ".repeat(4000),
    ">".repeat(40),
    "1. ".repeat(40),
    "> - ".repeat(9),
    deep,
  ];
  for (const text of texts) expect(readMarkdown(text), text.slice(0, 40)).toBeNull();
  expect(readMarkdown("- a\n  - b\n    - c\n\n> > quoted")).not.toBeNull();
  expect(readMarkdown("- - - - - - - - - - - - - - - -")?.blocks ?? "plain").toBe("plain");
});

test("readMarkdown reads texts that are made to be slow in little time", () => {
  const pieces = [
    "*a_ ",
    "**a *b ",
    "a*",
    "*a",
    "_a_a",
    "[",
    "[a](",
    "![a](",
    "`a ",
    "<",
    "<a href='",
    "~a ",
    "|a",
    "|a|\n|-|\n",
    "\\",
    "[a]: b\n",
    "```\n",
    "<!--",
    "&#",
    "a@a.",
    "a\n=",
    "> - \n",
    "* x\n  ",
    "- a\n\n",
    '[a](b "',
    "a  \n",
    "http://a",
    ">",
    "- ",
    "1. ",
    " ",
    "\t",
  ]; // deno-fmt-ignore-line
  for (const piece of pieces) {
    const text = piece.repeat(12_288 / piece.length);
    const beganAt = performance.now();
    readMarkdown(text);
    // Far above what is measured: it catches a text that stops the page, not a slow machine.
    expect(performance.now() - beganAt, piece).toBeLessThan(1500);
  }
}, 60_000);
