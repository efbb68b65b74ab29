import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ansiRuns } from "../../../../core/doors/console/page/ansi.ts";

const escape = "\u001b";
const looks = (text: string): Record<string, string> =>
  Object.fromEntries(ansiRuns(text).map((run) => [run.text, run.look]));

describe("ansiRuns", () => {
  test("leaves a text without sequences in one run", () => {
    expect(ansiRuns("plain <b>text</b>\n")).toEqual([{ text: "plain <b>text</b>\n", look: "" }]);
  });

  test("shows colours and weights up to their end", () => {
    expect(looks(`${escape}[31mred ${escape}[1mbold red${escape}[22m red again${escape}[0m plain`)).toEqual({
      "red ": "ansi-1",
      "bold red": "bold ansi-1",
      " red again": "ansi-1",
      " plain": "",
    });
    expect(looks(`${escape}[92;3;4mbright${escape}[39mno colour${escape}[mnothing`)).toEqual({
      bright: "italic underline ansi-10",
      "no colour": "italic underline",
      nothing: "",
    });
    expect(looks(`${escape}[7minverse${escape}[27mnot`)).toEqual({ inverse: "inverse", not: "" });
  });

  test("brings colours of the palette and of all bits to the sixteen of the style sheet", () => {
    expect(looks(`${escape}[38;5;3myellow`)).toEqual({ yellow: "ansi-3" });
    expect(looks(`${escape}[38;5;196mred`)).toEqual({ red: "ansi-9" });
    expect(looks(`${escape}[38;2;10;200;20;1mgreen`)).toEqual({ green: "bold ansi-2" });
    expect(looks(`${escape}[48;2;255;0;0;4mbackgrounds are left out`)).toEqual({
      "backgrounds are left out": "underline",
    });
  });

  test("leaves out what would move a cursor, clear a screen or set a title, and keeps the text around it", () => {
    const acting = ["[2J", "[1;1H", "[?25l", "[K", "]0;a title\u0007", `]8;;https://example.com${escape}\\`, "(B", "c"];
    for (const sequence of acting) {
      expect(ansiRuns(`before${escape}${sequence}after`).map(({ text }) => text).join(""), sequence).toBe(
        "beforeafter",
      );
    }
  });

  test("hides nothing behind a title that has no end", () => {
    const text = `before${escape}]hidden\nnext line`;
    expect(ansiRuns(text).map((run) => run.text).join("")).toBe(text);
  });

  test("reads a style with parts as one", () => {
    expect(looks(`${escape}[38:2::255:0:0mred`)).toEqual({ red: "ansi-9" });
    expect(looks(`${escape}[38:5:3;1myellow`)).toEqual({ yellow: "bold ansi-3" });
    expect(looks(`${escape}[4:3mcurly`)).toEqual({ curly: "underline" });
  });

  test("gives every text classes of the style sheet alone, and no empty run", () => {
    const parameters = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 8 });
    const piece = fc.oneof(fc.string(), parameters.map((list) => `${escape}[${list.join(";")}m`));
    fc.assert(fc.property(fc.array(piece), (pieces) => {
      for (const { text, look } of ansiRuns(pieces.join(""))) {
        if (pieces.join("").includes(escape)) expect(text).not.toBe("");
        expect(look).toMatch(/^(?:(?:bold|faint|italic|underline|struck|inverse|ansi-(?:\d|1[0-5]))(?: |$))*$/);
      }
    }));
  });
});
