import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { meantId } from "../../../packages/registry/unknown-plugin.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { Questions } from "../questions.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint, type Paint } from "../render/paint.ts";
import { type Row, tableLines } from "../render/table.ts";
import { fitLine, wrapText } from "../render/text-width.ts";
import { drawingColumns, tableColumns } from "../show-session.ts";
import type { AskedAgent, MissingAgent } from "./find-agents.ts";

/** Columns of a reason at most: a program may print pages when it fails. */
const shownReason = 300;

interface ChooseAgentsOptions {
  terminal: Terminal;
  /** Ids from the command line; undefined to ask, or with `yes` to take those that could run now. */
  wanted: readonly string[] | undefined;
  yes: boolean;
  /** Agents that are not on this machine, and how to get them. */
  missing: readonly MissingAgent[];
}

/**
 * Chooses the agents to enable, in the order in which sessions try them.
 * @throws {BulkheadError} `unknown_adapter` for an id that is not among them; `grant_needed` without a terminal to ask at
 */
export async function chooseAgents(
  agents: readonly AskedAgent[],
  { terminal, wanted, yes, missing }: ChooseAgentsOptions,
): Promise<AskedAgent[]> {
  if (wanted !== undefined) return wanted.map((id) => agentOf(agents, id, missing));
  const ready = agents.filter(isReady);
  if (yes) return ready;
  if (!Questions.possible(terminal)) {
    throw new BulkheadError("grant_needed", "Cannot set up agents: there is no terminal to ask at.", {
      hint: `Name them: bulkhead setup --yes --agents ${agents.map(({ plugin }) => plugin.id).join(",")}`,
    });
  }
  return await ask(agents, terminal, missing);
}

/** The agents as a numbered table; those that could run now are ticked. */
function agentLines(agents: readonly AskedAgent[], paint: Paint, columns: number): string[] {
  const rows = agents.map((agent, index): Row => ({
    cells: [
      `${isReady(agent) ? "[x]" : "[ ]"} ${index + 1}`,
      { text: agent.plugin.id, tone: "bold" },
      safeLine(agent.report.agent_version ?? ""),
      { text: safeLine(agent.report.availability.replaceAll("_", " ")), tone: isReady(agent) ? "green" : "yellow" },
      { text: safeLine(whereText(agent)), tone: "dim" },
    ],
    remedy: agent.report.next_step,
  }));
  return tableLines(rows, { paint, columns, indent: 2, wraps: true });
}

/** Whether an agent could take a session now. */
export function isReady({ report }: AskedAgent): boolean {
  return report.availability === "available";
}

function whereText(agent: AskedAgent): string {
  const { program, key, plugin, report } = agent;
  const parts = [
    program,
    key === null ? null : `$${key} is set`,
    plugin.enabled ? "enabled already" : null,
    isReady(agent) || report.next_step !== undefined ? null : fitLine(report.reason, shownReason),
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

async function ask(
  agents: readonly AskedAgent[],
  terminal: Terminal,
  missing: readonly MissingAgent[],
): Promise<AskedAgent[]> {
  const questions = new Questions(terminal);
  const paint = createPaint(terminal.colours.stdout);
  await terminal.stdout.write(`${agentLines(agents, paint, tableColumns(terminal)).join("\n")}\n`);
  const question =
    "Which ones? Numbers or ids in the order in which they should be tried, Enter for the ticked ones, " +
    'or "none".';
  for (;;) {
    const line = await questions.text(wrapText(question, drawingColumns(terminal), 5).join("\n"));
    if (line === null || line.trim() === "none") return [];
    if (line.trim() === "") return agents.filter(isReady);
    try {
      return [...new Set(line.split(/[\s,]+/).filter(Boolean).map((word) => agentOf(agents, word, missing)))];
    } catch (error) {
      if (!(error instanceof BulkheadError)) throw error;
      await terminal.stderr.write(`${error.message}\n`);
    }
  }
}

function agentOf(agents: readonly AskedAgent[], word: string, missing: readonly MissingAgent[]): AskedAgent {
  const found = agents.find(({ plugin }) => plugin.id === word) ?? agents[/^\d+$/.test(word) ? Number(word) - 1 : -1];
  if (found !== undefined) return found;
  const install = missing.find(({ id }) => id === word)?.install;
  const ids = agents.map(({ plugin }) => plugin.id);
  const meant = install === undefined ? meantId(word, [...ids, ...missing.map(({ id }) => id)]) : null;
  throw new BulkheadError(
    "unknown_adapter",
    `Cannot set up ${JSON.stringify(safeLine(word))}: it was not found here.`,
    {
      hint: `${install === undefined ? "" : `Install it: ${install}. `}${
        meant === null ? "" : `Did you mean "${meant}"? `
      }Found: ${ids.join(", ") || "no agent"}. "bulkhead plugin list" shows all.`,
    },
  );
}
