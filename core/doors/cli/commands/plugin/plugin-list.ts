import type { PluginProblem, PluginReport } from "../../../../../plugin-sdk/plugin-report.ts";
import { type Invocation, tellEach } from "../../command.ts";
import { openPlugins } from "../../open-plugins.ts";
import { safeLine, safeText } from "../../render/agent-text.ts";
import { editedLine, waitingLines } from "../../render/install-lines.ts";
import { asTyped } from "../../render/as-typed.ts";
import { messageLines } from "../../render/message-lines.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import type { Cell } from "../../render/table.ts";
import { tableText } from "../../show-session.ts";

/** `bulkhead plugin list`. */
export async function pluginList(call: Invocation): Promise<number> {
  await using opened = await openPlugins(call);
  const { terminal } = call;
  const [plugins, problems] = [await opened.facts.list(), await opened.facts.problems()];
  return await tellEach(call, [...plugins, ...problems], () => {
    if (plugins.length === 0 && problems.length === 0) return "No plugin was found.";
    const head = ["plugin", "version", "state", "from", "walls", "what it does"];
    const table = plugins.length === 0 ? [] : [tableText(plugins.map(row), { terminal, head, wraps: true })];
    const updates = plugins.flatMap(({ id, waiting_update: waiting }) =>
      waiting === null ? [] : ["", ...waitingLines(id, waiting).map((line) => ` ${line}`)]
    );
    const edited = plugins.flatMap(({ id, edited }) => (edited ? ["", ` ${editedLine(id)}`] : []));
    return [...table, ...edited, ...updates, ...problemLines(problems, createPaint(terminal.colours.stdout))].join(
      "\n",
    );
  });
}

function problemLines(problems: readonly PluginProblem[], paint: Paint): string[] {
  return problems.flatMap(({ id, folder, error, unavailable }) => [
    "",
    ` ${paint("red", `✘ ${safeLine(id)}`)} cannot be used (${safeLine(folder)})${unavailable ? ": unavailable" : ""}`,
    ...messageLines(error, { paint, columns: 0 }).map((line) => `   ${line}`),
    ...(error.code === "unaccepted_change" && error.hint !== undefined ? [`   ${safeText(asTyped(error.hint))}`] : []),
  ]);
}

function stateOf({ enabled, blocked, quarantine }: PluginReport): Cell {
  if (blocked !== null) return { text: "blocked", tone: "red" };
  if (quarantine !== null) return { text: "quarantined", tone: "red" };
  return enabled ? { text: "enabled", tone: "green" } : { text: "disabled", tone: "dim" };
}

function row(plugin: PluginReport): Cell[] {
  const { id, instance_of: base, version, origin, isolation, description } = plugin;
  return [
    { text: id, tone: "bold" },
    safeLine(version),
    stateOf(plugin),
    base === null ? origin : `${safeLine(base)}, ${origin}`,
    isolation,
    { text: safeLine(description), tone: "dim" },
  ];
}
