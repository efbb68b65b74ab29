import type { ConformanceReport, RuleReport } from "../../../kit/conformance/report.ts";
import { resolve } from "../../../ground/runtime/paths.ts";
import type { Invocation } from "../command.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint, type Paint } from "../render/paint.ts";
import { formatDuration } from "../render/quantities.ts";

/** `bulkhead plugin test [folder]`. */
export async function pluginTest({ terminal, args, options, json }: Invocation): Promise<number> {
  const { testPlugin } = await import("../../../kit/conformance/test-plugin.ts");
  const report = await testPlugin(resolve(terminal.cwd, args[0] ?? "."));
  const paint = createPaint(terminal.colours.stdout);
  const lines = reportLines(report, { paint, all: options["all"] === true });
  await terminal.stdout.write(json ? `${JSON.stringify(report)}\n` : `${lines.join("\n")}\n`);
  return report.passed ? 0 : 1;
}

function reportLines(report: ConformanceReport, { paint, all }: { paint: Paint; all: boolean }): string[] {
  const { plugin_id, version, folder, rules, passed, duration_ms, runtime, isolation } = report;
  const count = (outcome: RuleReport["outcome"]) => rules.filter((rule) => rule.outcome === outcome).length;
  const shown = rules.filter(({ outcome }) => all || outcome === "failed" || outcome === "noted");
  const verdict = passed ? paint("green", "✔ It keeps the contract") : paint("red", "✘ It breaks the contract");
  const sums = `${count("passed")} passed, ${count("failed")} failed, ${count("noted")} noted, ${
    count("skipped")
  } skipped`;
  return [
    `${paint("bold", safeLine(plugin_id ?? "plugin"))} ${safeLine(version ?? "")} ${paint("dim", safeLine(folder))}`,
    ...shown.flatMap((rule) => ruleLines(rule, paint)),
    ` ${verdict}: ${sums}, behind ${
      isolation === "process" ? "a process wall" : "a thread's wall alone"
    }, on ${runtime} in ${formatDuration(duration_ms)}.`,
  ];
}

function ruleLines({ rule, title, outcome, findings, reason }: RuleReport, paint: Paint): string[] {
  const marks = {
    passed: paint("green", "PASS"),
    failed: paint("red", "FAIL"),
    noted: paint("yellow", "NOTE"),
    skipped: paint("dim", "SKIP"),
  };
  return [
    `  ${marks[outcome]}  ${rule.padEnd(22)} ${paint("dim", title)}`,
    ...(reason === undefined ? [] : [`        ${paint("dim", reason)}`]),
    ...findings.flatMap(({ message, session }) => {
      const [first = "", ...below] = message.split("\n");
      const said = session === undefined ? first : `In session "${session}": ${first}`;
      return [`        ${safeLine(said)}`, ...below.map((line) => `          ${safeLine(line)}`)];
    }),
  ];
}
