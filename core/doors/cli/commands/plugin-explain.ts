import { grantsCommand } from "../../../ground/config/grant-command.ts";
import type { Host } from "../../../sessions/host/host.ts";
import { grantable } from "../../../packages/registry/grantable.ts";
import { quarantineError } from "../../../walls/pool/plugin-health.ts";
import type { ExplainedPermission } from "../../../packages/registry/explain-permissions.ts";
import type { Plugin } from "../../../packages/registry/plugin.ts";
import { unknownPlugin } from "../../../packages/registry/unknown-plugin.ts";
import type { Invocation } from "../command.ts";
import { openPlugins } from "../open-plugins.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint, type Tone } from "../render/paint.ts";
import { broadLines } from "../render/broad-lines.ts";
import { lookAtPins, pinLines, type ShownPin } from "../render/pin-lines.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { wrapText } from "../render/text-width.ts";
import { wallLines } from "../render/wall-lines.ts";
import { drawingColumns } from "../show-session.ts";

/** `bulkhead plugin explain <id>`. */
export async function pluginExplain(call: Invocation): Promise<number> {
  await using opened = await openPlugins(call);
  const plugin = await opened.facts.explain(call.args[0] ?? "");
  const { permissions: rows, quarantine: record } = plugin;
  const pins = await lookAtPins(plugin.pins);
  const { terminal } = call;
  if (call.json) {
    for (const explained of rows) {
      const pinned = explained.binary === undefined ? {} : { pinned: pinOf(explained.binary, pins) };
      await terminal.stdout.write(`${JSON.stringify({ plugin_id: plugin.id, ...explained, ...pinned })}\n`);
    }
    for (const walls of plugin.programs) {
      await terminal.stdout.write(`${JSON.stringify({ plugin_id: plugin.id, ...walls })}\n`);
    }
    return 0;
  }
  const paint = createPaint(terminal.colours.stdout);
  const { name, version, description } = plugin.manifest;
  const state = record
    ? paint("red", "quarantined")
    : plugin.blocked !== null
    ? paint("red", "blocked")
    : plugin.enabled
    ? paint("green", "enabled")
    : paint("yellow", "disabled");
  const instance = plugin.instance_of === null ? "" : `, an instance of ${safeLine(plugin.instance_of)}`;
  await terminal.stdout.write(
    `${paint("bold", plugin.id)} ${safeLine(version)} · ${state} · ${safeLine(name)}${instance}\n`,
  );
  const columns = drawingColumns(terminal);
  const described = wrapText(safeLine(description), columns, 20).map((line) => `${paint("dim", line)}\n`);
  await terminal.stdout.write(`${described.join("")}\n`);
  if (plugin.blocked !== null) await terminal.stdout.write(`${safeLine(plugin.blocked)}\n\n`);
  if (record) {
    const { message, hint } = quarantineError(record);
    await terminal.stdout.write(`${safeLine(message)}\nTo let it run again:\n  ${safeLine(hint ?? "")}\n\n`);
  }
  const walls = plugin.programs.length === 0 ? [] : [...wallLines(plugin.programs, { paint, columns }), ""];
  const lines = rows.length === 0
    ? ["It asks for no permission and has none."]
    : tableLines(withFewerForms(rows).map(row), {
      paint,
      columns,
      indent: 1,
      wraps: true,
      head: ["permission", "state", "target"],
    });
  await terminal.stdout.write(
    `${[...walls, ...lines, ...broadLines(withFewerForms(rows), { paint, columns }), ...pinLines(pins)].join("\n")}\n${
      missingGrants(plugin, rows)
    }`,
  );
  return 0;
}

function pinOf(binary: string, pins: readonly ShownPin[]): ShownPin | null {
  return pins.find((pin) => pin.binary === binary) ?? null;
}

/**
 * Finds a plugin by its id.
 * @throws {BulkheadError} `not_found`, with the id that was meant, or those of the plugins that were found
 */
export function pluginOf(host: Host, id: string): Plugin {
  const plugin = host.registry.get(id);
  if (plugin !== undefined) return plugin;
  throw unknownPlugin(id, host.registry.list());
}

const fewForms = 3;

/** Rows in which many forms of one program's arguments, with the same decision, are one; `--json` lists them all. */
function withFewerForms(rows: readonly ExplainedPermission[]): ExplainedPermission[] {
  const alike = new Map<string, ExplainedPermission[]>();
  for (const one of rows) {
    const { permission, binary, target, requested, granted, denied, effective, breadth } = one;
    const form = permission === "run" && (effective.length === 0 || effective.includes(target)) ? binary : target;
    const key = JSON.stringify([permission, form, requested, granted, denied, effective.length > 0, breadth]);
    alike.set(key, [...alike.get(key) ?? [], one]);
  }
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first?.binary === undefined || group.length <= fewForms) return group;
    const target = `${first.binary}, with ${group.length} forms of arguments (--json lists them)`;
    return [{ ...first, target, effective: first.effective.length === 0 ? [] : [target] }];
  });
}

function row(explained: ExplainedPermission): Cell[] {
  const { permission, target, effective, why, breadth } = explained;
  const isWhole = effective.length === 1 && effective[0] === target;
  const [state, tone, isPlain] = stateOf(explained, isWhole);
  return [
    breadth === "everything" ? { text: permission, tone: "red" } : permission,
    { text: state, tone },
    isPlain ? safeLine(target) : safeLine(`${target}: ${why}`),
  ];
}

/** The decision in a word, and whether the word says all. */
function stateOf(
  { requested, granted, denied, effective }: ExplainedPermission,
  isWhole: boolean,
): [word: string, tone: Tone, isPlain: boolean] {
  if (isWhole) return ["✔ granted", "green", true];
  if (effective.length > 0) return ["~ in part", "yellow", false];
  if (denied) return ["✘ denied", "red", !granted];
  if (requested && !granted) return ["- not granted", "dim", true];
  return ["- no effect", "yellow", false];
}

function missingGrants(plugin: Pick<Plugin, "id">, rows: readonly ExplainedPermission[]): string {
  const grants = rows.flatMap(({ permission, target, requested, granted }) => {
    // Grant a program with the arguments and names that its manifest asks for, and a secret with its places.
    const word = permission === "run" || permission === "secrets" ? target.split(" ")[0] ?? target : target;
    const isGrantable = (grantable as readonly string[]).includes(permission);
    return requested && !granted && isGrantable ? [{ permission, target: word }] : [];
  });
  if (grants.length === 0) return "";
  const once = grants.filter(({ permission, target }, index) =>
    index === grants.findIndex((other) => other.permission === permission && other.target === target)
  );
  return `\nTo grant what is missing:\n  ${asTyped(grantsCommand(plugin.id, once))}\n`;
}
