import type { CrashRecord } from "../../pool/plugin-health.ts";
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
  const quarantined = new Map((await opened.host.quarantined()).map((record) => [record.plugin_id, record]));
  if (call.json) {
    for (const plugin of plugins) {
      await terminal.stdout.write(`${JSON.stringify(listed(plugin, quarantined.get(plugin.id)))}\n`);
    }
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
  const lines = tableLines(plugins.map((plugin) => row(plugin, quarantined.has(plugin.id))), {
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

function listed(
  { id, manifest, folder, origin, enabled, trusted, isolation }: Plugin,
  quarantine: CrashRecord | undefined,
): Record<string, unknown> {
  const { name, version, description, adapter_type } = manifest;
  return {
    id,
    name,
    version,
    description,
    adapter_type,
    folder,
    origin,
    enabled,
    trusted,
    isolation,
    quarantine: quarantine ?? null,
  };
}

function stateOf({ enabled }: Plugin, quarantined: boolean): Cell {
  if (quarantined) return { text: "quarantined", tone: "red" };
  return enabled ? { text: "enabled", tone: "green" } : { text: "disabled", tone: "dim" };
}

function row(plugin: Plugin, quarantined: boolean): Cell[] {
  return [
    { text: plugin.id, tone: "bold" },
    safeLine(plugin.manifest.version),
    stateOf(plugin, quarantined),
    plugin.origin,
    plugin.isolation,
    { text: safeLine(plugin.manifest.description), tone: "dim" },
  ];
}
