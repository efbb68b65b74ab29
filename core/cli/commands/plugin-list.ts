import type { Plugin } from "../../registry/plugin.ts";
import type { RegistryProblem } from "../../registry/registry.ts";
import type { Invocation } from "../command.ts";
import { openHost } from "../open-host.ts";
import { safeLine, safeText } from "../render/agent-text.ts";
import { createPaint, type Paint } from "../render/paint.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead plugin list`. */
export async function pluginList(call: Invocation): Promise<number> {
  await using opened = await openHost(call);
  const plugins = opened.host.registry.list().toSorted((a, b) => a.id.localeCompare(b.id));
  const { terminal } = call;
  const problems = opened.host.registry.problems();
  if (call.json) {
    for (const plugin of plugins) await terminal.stdout.write(`${JSON.stringify(listed(plugin))}\n`);
    for (const { id, folder, error } of problems) {
      await terminal.stdout.write(`${JSON.stringify({ id, folder, enabled: false, error: error.toJSON() })}\n`);
    }
    return 0;
  }
  if (plugins.length === 0 && problems.length === 0) {
    await terminal.stdout.write("No plugin was found.\n");
    return 0;
  }
  const paint = createPaint(terminal.colours.stdout);
  const lines = tableLines(plugins.map(row), {
    paint,
    columns: tableColumns(terminal),
    indent: 1,
    head: ["plugin", "version", "state", "from", "walls", "what it does"],
  });
  await terminal.stdout.write(`${[...lines, ...problemLines(problems, paint)].join("\n")}\n`);
  return 0;
}

function problemLines(problems: readonly RegistryProblem[], paint: Paint): string[] {
  return problems.flatMap(({ id, folder, error }) => [
    "",
    ` ${paint("red", `✘ ${safeLine(id)}`)} cannot be used (${safeLine(folder)})`,
    ...safeText(error.message).split("\n").map((line) => `   ${line}`),
  ]);
}

function listed({ id, manifest, folder, origin, enabled, trusted, isolation }: Plugin): Record<string, unknown> {
  const { name, version, description, adapter_type } = manifest;
  return { id, name, version, description, adapter_type, folder, origin, enabled, trusted, isolation };
}

function row(plugin: Plugin): Cell[] {
  return [
    { text: plugin.id, tone: "bold" },
    safeLine(plugin.manifest.version),
    plugin.enabled ? { text: "enabled", tone: "green" } : { text: "disabled", tone: "dim" },
    plugin.origin,
    plugin.isolation,
    { text: safeLine(plugin.manifest.description), tone: "dim" },
  ];
}
