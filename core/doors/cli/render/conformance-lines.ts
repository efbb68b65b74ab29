import type { ConformanceReport, RuleReport } from "../../../kit/conformance/report.ts";
import { safeLine } from "./agent-text.ts";
import type { Paint, Tone } from "./paint.ts";
import { formatDuration } from "./quantities.ts";
import { textWidth, wrapLines } from "./text-width.ts";

interface ConformanceLineOptions {
  paint: Paint;
  /** Columns of the terminal; 0: there is none, and nothing is wrapped. */
  columns: number;
  /** Lists the rules that hold as well. */
  all: boolean;
}

/** Formats a report of the conformance kit: each rule that a plugin breaks with what was seen, then the verdict. */
export function conformanceLines(report: ConformanceReport, { paint, columns, all }: ConformanceLineOptions): string[] {
  const { plugin_id, version, folder, rules, passed, duration_ms, runtime, isolation } = report;
  const count = (outcome: RuleReport["outcome"]) => rules.filter((rule) => rule.outcome === outcome).length;
  const shown = rules.filter(({ outcome }) => all || outcome === "failed" || outcome === "noted");
  const verdict = passed ? "✔ It keeps the contract" : "✘ It breaks the contract";
  const sums = `${count("passed")} passed, ${count("failed")} failed, ${count("noted")} noted, ${
    count("skipped")
  } skipped`;
  const wall = isolation === "process" ? "a process wall" : "a thread's wall alone";
  const wrapped = (text: string) => wrapLines(text, columns).split("\n");
  const sentence = [
    ` ${verdict}: ${sums},`,
    ` behind ${wall}, on ${safeLine(runtime)} in ${formatDuration(duration_ms)}.`,
  ];
  const isNarrow = columns > 0 && sentence.some((line) => textWidth(line) > columns);
  const [first = "", ...rest] = isNarrow ? wrapped(sentence.join("")) : sentence;
  return [
    ...besideOrBelow(
      [`${safeLine(plugin_id ?? "plugin")} ${safeLine(version ?? "")}`, "bold"],
      [safeLine(folder), "dim"],
      { paint, columns, indent: 2 },
    ),
    ...shown.flatMap((rule) => ruleLines(rule, { paint, columns })),
    first.replace(verdict, (text) => paint(passed ? "green" : "red", text)),
    ...rest,
  ];
}

const marks: Readonly<Record<RuleReport["outcome"], [word: string, tone: Tone]>> = {
  passed: ["PASS", "green"],
  failed: ["FAIL", "red"],
  noted: ["NOTE", "yellow"],
  skipped: ["SKIP", "dim"],
};

function ruleLines({ rule, title, outcome, findings, reason }: RuleReport, options: Drawn): string[] {
  const { paint, columns } = options;
  const [word, tone] = marks[outcome];
  const [head = "", ...below] = besideOrBelow([rule.padEnd(22), "plain"], [title, "dim"], {
    paint,
    columns: columns === 0 ? 0 : columns - 8,
    indent: 0,
  });
  const said = (text: string, indent: number, tone: Tone) =>
    wrapLines(" ".repeat(indent) + safeLine(text), columns).split("\n").map((line) => paint(tone, line));
  return [
    `  ${paint(tone, word)}  ${head}`,
    ...below.map((line) => `        ${line}`),
    ...(reason === undefined ? [] : said(reason, 8, "dim")),
    ...findings.flatMap(({ message, session }) => {
      const [first = "", ...more] = message.split("\n");
      const whole = session === undefined ? first : `In session "${session}": ${first}`;
      return [...said(whole, 8, "plain"), ...more.flatMap((line) => said(line, 10, "plain"))];
    }),
  ];
}

interface Drawn {
  paint: Paint;
  columns: number;
}

/** Puts two texts beside each other; the second one below, and wrapped, where a line has no room for both. */
function besideOrBelow(
  [one, tone]: [string, Tone],
  [other, otherTone]: [string, Tone],
  { paint, columns, indent }: Drawn & { indent: number },
): string[] {
  if (columns === 0 || textWidth(one) + 1 + textWidth(other) <= columns) {
    return [`${paint(tone, one)} ${paint(otherTone, other)}`];
  }
  const below = wrapLines(" ".repeat(indent) + other, columns).split("\n");
  return [paint(tone, one.trimEnd()), ...below.map((line) => paint(otherTone, line))];
}
