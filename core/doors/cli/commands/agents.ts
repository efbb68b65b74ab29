import { Option } from "commander";
import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import type { AgentCapabilities } from "../../../../plugin-sdk/capabilities.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { enableOne } from "../../../sessions/routing/unknown-adapter.ts";
import { lackingCapabilities } from "../../../sessions/routing/lacking.ts";
import { type DefineCommand, examples, type Invocation, tellEach } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { agentHead, agentRows, brokenFirst, enabledAgents } from "../render/agent-rows.ts";
import { explainAll } from "../render/result-lines.ts";
import { createPaint } from "../render/paint.ts";
import { readRequired, requireFlag } from "../required-capabilities.ts";
import { tableText } from "../show-session.ts";
import { tellMissingVariables } from "../tell-missing-variables.ts";
import { whileWaiting } from "../while-waiting.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead agents`. */
export const defineAgents: DefineCommand = (command, bind) => {
  command
    .option("--all", "also show agents that are not enabled")
    .option("--refresh", "ask every agent now, ignoring earlier answers")
    .addOption(new Option(requireFlag.flags, requireFlag.description).argParser(readRequired))
    .addHelpText(...examples(
      ["bulkhead agents", "which agents could take a session now, and what the others need"],
      ["bulkhead agents --all", "also those that are not enabled"],
      ["bulkhead agents --require code_review", "those that can review code"],
      ["bulkhead agents --json", "one report a line"],
    ))
    .action(bind(agents));
};

async function agents(call: Invocation): Promise<number> {
  const { terminal, options } = call;
  await using opened = await openSessions(call);
  const required = (options["require"] ?? {}) as AgentCapabilities;
  const plugins = await opened.plugins();
  const enabled = plugins.filter((plugin) => plugin.enabled).length;
  const all = await whileWaiting(`Asking ${enabled === 1 ? "1 agent" : `${enabled} agents`} …`, {
    terminal,
    work: opened.sessions.agents({ refresh: options["refresh"] === true, require: required }),
  });
  const able = all.filter(({ capabilities }) => lackingCapabilities(required, capabilities).length === 0);
  await tellEach(call, able, () => table(able, call));
  await tellMissingVariables(call.terminal, { plugins });
  return able.some(({ availability }) => availability === "available") ? 0 : errorTable.unavailable.exit_code;
}

function table(reports: readonly AgentReport[], { terminal, options }: Invocation): string {
  if (reports.length === 0) return "No agent was found that can do this.";
  const shown = options["all"] === true ? brokenFirst(reports) : enabledAgents(reports);
  if (shown.length === 0) return asTyped(`No agent is enabled. ${enableOne}`);
  const paint = createPaint(terminal.colours.stdout);
  const lines = [tableText(agentRows(shown), { terminal, head: agentHead, wraps: true })];
  const hidden = reports.length - shown.length;
  if (hidden > 0) {
    lines.push(
      `\n ${paint("dim", asTyped(`${hidden} more ${hidden === 1 ? "is" : "are"} not enabled: bulkhead agents --all`))}`,
    );
  }
  const more = shown.flatMap(({ next_step }) => explainAll(next_step) ?? []);
  if (more.length > 0) lines.push(...["", ...more.map((line) => ` ${paint("dim", asTyped(line))}`)]);
  if (reports.some(({ primary }) => primary)) {
    lines.push(`\n ${paint("dim", "* takes a session that names no adapter")}`);
  }
  return lines.join("\n");
}
