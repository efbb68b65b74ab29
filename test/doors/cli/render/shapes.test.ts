import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatTimer,
  localTime,
  plural,
  shortCount,
  withLocalTimes,
} from "../../../../core/doors/cli/render/quantities.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { shortInput } from "../../../../core/doors/cli/render/input-text.ts";
import { asTyped } from "../../../../core/doors/cli/render/as-typed.ts";
import { ambiguousId } from "../../../../core/doors/cli/find-session.ts";
import { tableLines } from "../../../../core/doors/cli/render/table.ts";
import { TextFlow } from "../../../../core/doors/cli/render/text-flow.ts";
import { fitLine, padEnd, takeColumns, textWidth, wrapText } from "../../../../core/doors/cli/render/text-width.ts";

test("formatAge is never below zero, and tells of a clock that was ahead", () => {
  const now = Date.parse("2025-06-01T12:00:00.000Z");
  const times = ["2025-06-01T11:00:00.000Z", "2025-06-01T12:00:30.000Z", "2025-06-01T14:00:00.000Z"];
  expect(times.map((time) => formatAge(time, now))).toEqual(["1 h", "0 s", "2 h ahead of the clock"]);
  const ages = [20_900, 6.5 * 60_000, 47.9 * 3_600_000, 221 * 3_600_000];
  expect(ages.map((ms) => formatAge(new Date(now - ms).toISOString(), now))).toEqual(["20 s", "6 min", "47 h", "9 d"]);
});

test("formatDuration fits its unit to the length", () => {
  expect([0, 480, 2100, 59_940, 60_000, 200_000, 7_500_000].map(formatDuration))
    .toEqual(["0 ms", "480 ms", "2.1 s", "59.9 s", "1 min", "3 min 20 s", "2 h 5 min"]);
});

test("formatBytes, formatCount, formatCost and plural speak to people", () => {
  expect([3, 1536, 20_480, 2 * 1024 ** 2, 3 * 1024 ** 3].map(formatBytes))
    .toEqual(["3 B", "1.5 KiB", "20 KiB", "2 MiB", "3 GiB"]);
  expect(formatCount(12345)).toBe("12,345");
  expect([formatCost(0.0036, "USD"), formatCost(1.5, "EUR"), formatCost(0, "USD")]).toEqual([
    "$0.0036",
    "1.50 EUR",
    "$0",
  ]);
  expect([formatCost(null, null), formatCost(0, null), formatCost(0.006000000000000001, null)]).toEqual([
    "unknown",
    "not billed",
    "$0.0060",
  ]);
  expect([formatCost(0.00001, "USD"), formatCost(1e-9, "EUR")]).toEqual(["<$0.0001", "<0.0001 EUR"]);
  expect([formatCost(12345.678, "USD"), formatCost(1234567.5, "EUR"), formatCost(0.0012, null)])
    .toEqual(["$12,345.68", "1,234,567.50 EUR", "$0.0012"]);
  expect([plural(1, "event"), plural(2000, "event")]).toEqual(["1 event", "2,000 events"]);
});

test("tableLines leaves out a title that its column has no room for", () => {
  const row = ["2026-11-30", "delegates", "260,000", "6 sessions reported nothing"];
  const draw = (columns: number) =>
    tableLines([row], {
      paint: createPaint(false),
      columns,
      wraps: true,
      indent: 1,
      head: ["day", "agent", "tokens in", "note"],
    });
  expect(draw(80)[0]).toBe(" day         agent      tokens in  note");
  expect(draw(38)[0]).toBe(" day         agent      tokens in");
  for (const columns of [38, 40, 60]) {
    for (const line of draw(columns)) expect(line.length).toBeLessThanOrEqual(columns);
  }
});

test("fitLine never takes more columns than it may, and keeps what fits", () => {
  fc.assert(fc.property(fc.string({ maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
    expect(textWidth(fitLine(text, columns))).toBeLessThanOrEqual(columns);
  }));
  expect(fitLine("one\ntwo", 20)).toBe("one two");
  expect(fitLine("one two three", 8)).toBe("one two…");
  expect(fitLine("x".repeat(1_000_000), 5)).toBe("xxxx…");
});

test("textWidth counts wide characters twice and marks not at all", () => {
  expect([textWidth("abc"), textWidth("語"), textWidth("e\u0301"), textWidth("\u0301")]).toEqual([3, 2, 1, 0]);
  expect([textWidth("한국"), textWidth("\u1112\u1161\u11ab"), textWidth("～")]).toEqual([4, 2, 2]);
  expect(padEnd("語", 4)).toBe("語  ");
});

test.each([
  ["a crab", "\u{1f980}"],
  ["a family", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}"],
  ["a heart", "\u2764\ufe0f"],
  ["a watch", "\u231a"],
  ["a flag", "\u{1f1e9}\u{1f1ea}"],
  ["a keycap", "1\ufe0f\u20e3"],
  ["a skin colour", "\u270c\u{1f3fd}"],
])("textWidth counts the emoji of %s twice, and none is cut in two", (_, emoji) => {
  expect(textWidth(`${emoji}a${emoji}`)).toBe(5);
  expect([1, 2, 3].map((columns) => takeColumns(emoji.repeat(2), columns))).toEqual(["", emoji, emoji]);
  expect(padEnd(emoji, 4)).toBe(`${emoji}  `);
  for (const width of [4, 5]) {
    const flow = new TextFlow(width);
    expect([...emoji.repeat(3)].map((piece) => flow.push(piece)).join("") + flow.end())
      .toBe(`${emoji.repeat(2)}\n${emoji}\n`);
  }
});

test("tableLines lines columns up beside emoji", () => {
  const rows = [["\u2764\ufe0f", "x"], ["\u231a", "y"], ["語", "y"], ["ab", "z"]];
  const lines = tableLines(rows, { paint: createPaint(false), columns: 30 });
  expect(lines).toEqual(["\u2764\ufe0f  x", "\u231a  y", "語  y", "ab  z"]);
});

test("textWidth counts letters, arrows and signs of one column once", () => {
  expect(textWidth("é→…✓©™❤1#")).toBe(9);
});

test("tableLines lines columns up and shortens the last one", () => {
  const rows = [["a", "long cell", "the last column is too long"], ["bcd", { text: "x", tone: "red" as const }, "y"]];
  const lines = tableLines(rows, { paint: createPaint(false), columns: 30, indent: 1, head: ["k", "v", "w"] });
  expect(lines).toEqual([
    " k    v          w",
    " a    long cell  the last col…",
    " bcd  x          y",
  ]);
});

test("tableLines never cuts or breaks a remedy, and leaves out a column without texts", () => {
  const remedy = "bulkhead plugin grant a run:a-program-with-a-long-name";
  const table = tableLines([{ cells: ["a", "", "why"], remedy }, { cells: ["b", "", "y"], remedy: undefined }], {
    paint: createPaint(false),
    columns: 20,
    indent: 1,
    head: ["k", "empty", "w"],
  });
  expect(table).toEqual([" k  w", " a  why", `   → ${remedy}`, " b  y"]);
});

test("asTyped writes commands as the person called the program, and nothing else", () => {
  vi.stubEnv("BULKHEAD_COMMAND", "npx bulkhead");
  try {
    expect(asTyped('Try "bulkhead plugin list", or: bulkhead start')).toBe(
      'Try "npx bulkhead plugin list", or: npx bulkhead start',
    );
    const others = "Edit bulkhead.yaml, ./bulkhead run, or https://x/bulkhead run; Bulkhead runs.";
    expect(asTyped(others)).toBe(others);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("ambiguousId names ids far enough to tell them apart", () => {
  const error = ambiguousId("aa", ["aa110000000f0001", "aa110000000f0002", "aa22000000000000"]);
  expect(error.message).toBe('"aa" begins the ids of 3 sessions.');
  expect(error.hint).toBe("Type more of it: aa110000000f0001, aa110000000f0002, aa22000000000000.");
  expect(ambiguousId("aa", ["aa11000000", "aa22000000"]).hint).toBe("Type more of it: aa110000, aa220000.");
});

test("createPaint wraps text in codes that end it, or leaves it", () => {
  expect(createPaint(true)("red", "x")).toBe("\u001b[31mx\u001b[39m");
  expect(createPaint(true)("plain", "x")).toBe("x");
  expect(createPaint(true)("red", "")).toBe("");
  expect(createPaint(false)("red", "x")).toBe("x");
});

test("shortInput shows what a tool call is about", () => {
  expect(shortInput({ content: "x", file_path: "a.txt" })).toBe("a.txt");
  expect(shortInput({ a: 1, b: [2] })).toBe("a=1 b=[2]");
  expect(shortInput("plain")).toBe("plain");
  expect(shortInput(null)).toBe("");
});

test("wrapText breaks at blanks, never loses a word, and ends what is too long with an ellipsis", () => {
  expect(wrapText("one two three", 9, 5)).toEqual(["one two", "three"]);
  expect(wrapText("one two", 7, 5)).toEqual(["one two"]);
  expect(wrapText("a\nb\tc", 9, 5)).toEqual(["a b c"]);
  expect(wrapText("x".repeat(20), 8, 5)).toEqual(["xxxxxxxx", "xxxxxxxx", "xxxx"]);
  expect(wrapText("one two three four five six", 8, 2)).toEqual(["one two", "three f…"]);
  expect(wrapText("", 8, 2)).toEqual([]);
  const words = "the quick brown 漢字 fox 😀 jumps".repeat(9);
  expect(wrapText(words, 12, 99).join(" ").split(" ")).toEqual(words.split(" "));
  for (const line of wrapText(words, 12, 99)) expect(textWidth(line)).toBeLessThanOrEqual(12);
});

test("localTime and withLocalTimes show times as the clock here has them", () => {
  const at = new Date(2026, 10, 7, 4, 3, 59);
  expect(localTime(at.toISOString())).toBe("2026-11-07 04:03");
  expect(withLocalTimes(`It is in quarantine since ${at.toISOString()}: why.`)).toBe(
    "It is in quarantine since 2026-11-07 04:03: why.",
  );
});

test.each([[0, "0:00"], [102_900, "1:42"], [3_723_000, "1:02:03"]])("formatTimer(%i) is %s", (ms, text) => {
  expect(formatTimer(ms)).toBe(text);
});

test.each([[940, "940"], [23_400, "23 k"], [1_234_567, "1.2 M"], [999_600, "1.0 M"]])(
  "shortCount(%i) is %s",
  (count, text) => {
    expect(shortCount(count)).toBe(text);
  },
);
