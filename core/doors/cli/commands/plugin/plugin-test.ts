import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { PluginRecording } from "../../../../kit/conformance/record-plugin.ts";
import type { ConformanceReport, RuleReport } from "../../../../kit/conformance/report.ts";
import { resolve } from "../../../../ground/platform/files/paths.ts";
import { type Invocation, tell } from "../../command.ts";
import { safeLine } from "../../render/agent-text.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import { formatDuration } from "../../render/quantities.ts";
import { whileWaiting } from "../../while-waiting.ts";

/** `bulkhead plugin test [folder]`, and with `--record` a session of the real programs first. */
export async function pluginTest(call: Invocation): Promise<number> {
  const { terminal, args, options } = call;
  const folder = resolve(terminal.cwd, args[0] ?? ".");
  const recorded = await record(call, folder);
  const { testPlugin } = await import("../../../../kit/conformance/test-plugin.ts");
  const named = options["wire"] as string | undefined;
  const wire = named === undefined ? {} : { wire: resolve(terminal.cwd, named) };
  const report = await whileWaiting("Trying every rule …", { terminal, work: testPlugin(folder, wire) });
  const paint = createPaint(terminal.colours.stdout);
  const lines = reportLines(report, { paint, all: options["all"] === true });
  const shown = recorded === null ? report : { ...report, recorded };
  await tell(call, shown, lines.join("\n"));
  return report.passed ? 0 : 1;
}

/** Records the session that `--record` names; null without it. */
async function record({ terminal, options, json }: Invocation, folder: string): Promise<PluginRecording | null> {
  const { record: session, prompt } = options as { record?: string; prompt?: string };
  if (session === undefined) {
    if (prompt === undefined) return null;
    throw new BulkheadError("invalid_config", "--prompt is the prompt of a session to record.", {
      hint: "Name the session: --record <session>",
    });
  }
  const { recordPlugin } = await import("../../../../kit/conformance/record-plugin.ts");
  const work = recordPlugin(folder, { session, prompt });
  const recorded = await whileWaiting(`Recording a session of ${safeLine(folder)} …`, { terminal, work });
  const { outcome, files, notes } = recorded;
  const lines = [
    `Recorded the session ${JSON.stringify(safeLine(session))}, ${outcome}: ${files.map(safeLine).join(", ")}`,
    ...notes.map((note) => `  ${safeLine(note)}`),
    "Read the recordings before you publish them: they hold what the programs printed on this machine.",
  ];
  if (!json) await terminal.stdout.write(`${lines.join("\n")}\n`);
  return recorded;
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
    ` ${verdict}: ${sums},`,
    ` behind ${isolation === "process" ? "a process wall" : "a thread's wall alone"}, on ${runtime} in ${
      formatDuration(duration_ms)
    }.`,
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
